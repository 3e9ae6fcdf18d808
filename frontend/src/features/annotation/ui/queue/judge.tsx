import { useState } from "react";
import type { Choice, Item, Verdict } from "@/features/annotation/model/item";
import { type Command, pairCommand, rankingCommand } from "@/features/annotation/model/keys";
import { back, finished, join, pick, ranksOf, unranked } from "@/features/annotation/model/ranking";
import { Completion, Conversation, KeyButton } from "@/features/annotation/ui/queue/item-view";
import { useKeys } from "@/features/annotation/ui/queue/shortcuts";
import styles from "./queue.module.css";

interface JudgeProps {
  item: Item;
  onAnswer: (verdict: Verdict) => void;
  onUndo: () => void;
  onHelp: () => void;
  canUndo: boolean;
}

/** The item that is to be judged now. */
export function Judge(props: JudgeProps) {
  return props.item.kind === "pairs" ? <Pair {...props} /> : <RankingDesk {...props} />;
}

/** Two answers side by side: which one is better? */
function Pair({ item, onAnswer, onUndo, onHelp, canUndo }: JudgeProps) {
  const choose = (choice: Choice) => onAnswer({ choice });
  useKeys(pairCommand, (command) => {
    if (command.type === "choose") choose(command.choice);
    if (command.type === "undo") onUndo();
    if (command.type === "help") onHelp();
  });
  const before = item.previous && "choice" in item.previous ? item.previous.choice : null;
  return (
    <>
      <Conversation prompt={item.prompt} />
      <div className={styles.pair}>
        {item.completions.map((text, index) => (
          <Completion key={index} number={index + 1} text={text} marked={before === String(index + 1)} />
        ))}
      </div>
      <div className={styles.bar} role="group" aria-label="Your answer">
        <KeyButton hint="1" onPress={() => choose("1")} className={styles.wide}>
          First is better
        </KeyButton>
        <KeyButton hint="0" onPress={() => choose("tie")}>
          Tie
        </KeyButton>
        <KeyButton hint="2" onPress={() => choose("2")} className={styles.wide}>
          Second is better
        </KeyButton>
        <KeyButton hint="s" look="quiet" onPress={() => choose("skip")}>
          Skip
        </KeyButton>
        <KeyButton hint="u" look="quiet" onPress={onUndo} disabled={!canUndo}>
          Undo
        </KeyButton>
      </div>
    </>
  );
}

/** Several answers, to be put in order: the best one first, then the next one. */
function RankingDesk({ item, onAnswer, onUndo, onHelp, canUndo }: JudgeProps) {
  const [ranking, setRanking] = useState(unranked);
  const size = item.completions.length;
  const ranks = ranksOf(ranking, size);
  const result = finished(ranking, size);
  const submit = () => result && onAnswer({ ranks: result });
  const run = (command: Command) => {
    if (command.type === "pick") setRanking((before) => pick(before, command.index, command.tie));
    if (command.type === "join") setRanking(join);
    if (command.type === "back") setRanking(back);
    if (command.type === "submit") submit();
    if (command.type === "choose" && command.choice === "skip") onAnswer({ choice: "skip" });
    if (command.type === "undo") onUndo();
    if (command.type === "help") onHelp();
  };
  useKeys((press) => rankingCommand(press, size), run);
  return (
    <>
      <Conversation prompt={item.prompt} />
      <div className={styles.many} data-columns={columnsFor(size)}>
        {item.completions.map((text, index) => (
          <Completion key={index} number={index + 1} text={text} marked={ranks[index] !== null}>
            <Rank
              number={index + 1}
              rank={ranks[index] ?? null}
              implied={result?.[index] ?? null}
              onPress={() => run({ type: "pick", index, tie: false })}
            />
          </Completion>
        ))}
      </div>
      <div className={styles.bar} role="group" aria-label="Your ranking">
        <KeyButton
          hint="Enter"
          look="primary"
          onPress={submit}
          disabled={!result}
          className={`${styles.wide} ${styles.whole}`}
        >
          Submit ranking
        </KeyButton>
        <KeyButton
          hint="0"
          onPress={() => run({ type: "join" })}
          pressed={ranking.joining}
          disabled={!ranking.tiers.length || ranks.every((rank) => rank !== null)}
        >
          Next one ties
        </KeyButton>
        <KeyButton hint="⌫" keyName="Backspace" onPress={() => run({ type: "back" })} disabled={!ranking.tiers.length}>
          Back
        </KeyButton>
        <KeyButton hint="s" look="quiet" onPress={() => onAnswer({ choice: "skip" })}>
          Skip
        </KeyButton>
        <KeyButton hint="u" look="quiet" onPress={onUndo} disabled={!canUndo}>
          Undo
        </KeyButton>
      </div>
    </>
  );
}

/** Rows of the same length, where there are few. */
const columnsFor = (count: number): number => (count === 2 || count === 4 ? 2 : 3);

interface RankProps {
  number: number;
  rank: number | null;
  /** The rank that the last one left gets by itself. */
  implied: number | null;
  onPress: () => void;
}

function Rank({ number, rank, implied, onPress }: RankProps) {
  return (
    <>
      <KeyButton hint={number < 10 ? String(number) : null} onPress={onPress} pressed={rank !== null}>
        {rank === null ? "Rank it" : "Ranked"}
      </KeyButton>
      <span className={styles.rank} role="status">
        {rank !== null ? ordinal(rank) : implied !== null && <i>{ordinal(implied)}</i>}
      </span>
    </>
  );
}

const SUFFIXES: Record<number, string> = { 1: "st", 2: "nd", 3: "rd" };
/** Ranks go up to 9. */
const ordinal = (rank: number): string => `${rank}${SUFFIXES[rank] ?? "th"}`;
