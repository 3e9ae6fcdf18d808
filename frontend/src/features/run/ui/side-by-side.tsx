import { useState } from "react";
import { Button } from "@/components/button";
import { winner } from "@/features/run/model/completions";
import type { Sides } from "@/features/run/model/spec";
import { LongText } from "@/features/run/ui/completion-table";
import type { Sample } from "@/lib/api/types";
import { fixed } from "@/lib/format";
import styles from "./completions.module.css";

const AT_ONCE = 10;

interface Props {
  rows: readonly Sample[];
  sides: Sides;
  judged: boolean;
}

/** The evaluation: for each prompt the answers of both policies, and which was judged better. */
export function SideBySide({ rows, sides, judged }: Props) {
  const [shown, setShown] = useState(AT_ONCE);
  return (
    <>
      <p className={styles.tally}>{tally(rows, sides, judged)}</p>
      <ul className={styles.pairs}>
        {rows.slice(0, shown).map((row, index) => (
          <Pair key={index} row={row} sides={sides} judged={judged} />
        ))}
      </ul>
      {shown < rows.length && (
        <Button onClick={() => setShown(shown + AT_ONCE)}>
          Show {Math.min(AT_ONCE, rows.length - shown)} more of {rows.length}
        </Button>
      )}
    </>
  );
}

function tally(rows: readonly Sample[], { before, after }: Sides, judged: boolean): string {
  const won = rows.map((row) => winner(row, judged));
  if (won.every((one) => one === null)) return `${rows.length} prompts.`;
  const count = (side: ReturnType<typeof winner>) => won.filter((one) => one === side).length;
  return `${rows.length} prompts: ${after} better on ${count("after")}, ${before} better on ${count("before")}, even on ${count("tie")}.`;
}

function Pair({ row, sides, judged }: { row: Sample; sides: Sides; judged: boolean }) {
  const better = winner(row, judged);
  return (
    <li className={styles.pair}>
      <p className={styles.asked}>
        <LongText text={row.prompt} />
      </p>
      <Answer
        name={sides.before}
        better={better === "before"}
        text={row.reference ?? ""}
        score={row.reference_score}
        judge={row.reference_judge}
      />
      <Answer
        name={sides.after}
        better={better === "after"}
        text={row.response}
        score={row.score}
        judge={row.judge}
        kl={row.kl}
      />
    </li>
  );
}

interface AnswerProps {
  name: string;
  better: boolean;
  text: string;
  score: number | null | undefined;
  judge: number | null | undefined;
  kl?: number | null | undefined;
}

function Answer({ name, better, text, score, judge, kl }: AnswerProps) {
  return (
    <div className={`${styles.answer} ${better ? styles.better : ""}`}>
      <p className={styles.who}>
        <b>{name}</b>
        {better && <span className={styles.mark}>better</span>}
        <span className={styles.scores}>
          {typeof judge === "number" && <span>judge {fixed(judge)}</span>}
          {typeof score === "number" && <span>score {fixed(score)}</span>}
          {typeof kl === "number" && <span>KL {fixed(kl)}</span>}
        </span>
      </p>
      <LongText text={text} />
    </div>
  );
}
