import type { ReactNode } from "react";
import { Card, Cards, Note } from "@/components/card";
import { InfoTip } from "@/components/popover";
import { Table } from "@/components/table";
import { alphaInWords, isBiased, wilson, winRate } from "@/features/annotation/model/agreement";
import { PolicyName } from "@/features/annotation/ui/round/round-header";
import { RewardModelCard } from "@/features/annotation/ui/round/reward-model-card";
import type { Round, RoundPolicy, RoundProgress, RoundSide } from "@/lib/api/types";
import { count, fixed, percent, NO_VALUE } from "@/lib/format";
import styles from "./round.module.css";

/** How far the answers can be trusted, and whether the reward model would have given the same. */
export function Figures({ round, progress }: { round: Round; progress: RoundProgress }) {
  return (
    <Cards>
      <Agreement round={round} progress={progress} />
      {progress.gold_of > 0 || round.gold_items > 0 ? <Gold progress={progress} /> : null}
      <RewardModelCard round={round} progress={progress} />
      <Position progress={progress} />
      {progress.sides && <Sides round={round} sides={progress.sides} />}
    </Cards>
  );
}

interface FigureCardProps {
  title: string;
  value: ReactNode;
  tip: ReactNode;
  children: ReactNode;
}

function FigureCard({ title, value, tip, children }: FigureCardProps) {
  return (
    <Card aria-label={title} title={title} beside={<InfoTip label={`About: ${title}`}>{tip}</InfoTip>}>
      <p className={styles.figure}>{value}</p>
      <Note>{children}</Note>
    </Card>
  );
}

function Agreement({ round, progress }: { round: Round; progress: RoundProgress }) {
  const { alpha, alpha_items: items, pairwise } = progress;
  return (
    <FigureCard
      title="Agreement"
      value={<>α {fixed(alpha)}</>}
      tip="Krippendorff's α over the labels: 1 where annotators always agree, 0 where they agree as often as chance would have it. From 0.8 on labels count as reliable, from 0.667 on as enough for tentative conclusions."
    >
      {items > 0 && `${alphaInWords(alpha)} ${percent(pairwise)} of the pairs of answers to the same are equal, `}
      {items > 0 && `over ${count(items, "item")}.`}
      {items === 0 &&
        (round.overlap === 1
          ? "Each item gets one answer, so agreement cannot be measured."
          : "No item has two answers yet.")}
    </FigureCard>
  );
}

function Gold({ progress }: { progress: RoundProgress }) {
  const { gold_right: right, gold_of: of } = progress;
  return (
    <FigureCard
      title="Gold questions"
      value={of > 0 ? percent(right / of) : NO_VALUE}
      tip="Items with a known answer, mixed in unmarked. An annotator who misses many of them may have misunderstood the instructions."
    >
      {of > 0 ? `${right} of ${count(of, "answer")} right.` : "None answered yet."}
    </FigureCard>
  );
}

function Position({ progress }: { progress: RoundProgress }) {
  const { first_chosen: first, second_chosen: second, ties, skips } = progress;
  const share = wilson(first, first + second);
  return (
    <FigureCard
      title="First one chosen"
      value={share ? percent(share.rate) : NO_VALUE}
      tip="Sides are shuffled, so that it should be one half. Far from it, annotators favour a position instead of an answer."
    >
      {share && (
        <>
          95 % interval {percent(share.low)} to {percent(share.high)}
          {isBiased(share) ? ": a position seems to be favoured. " : ". "}
        </>
      )}
      {count(ties, "tie")}, {count(skips, "skip")}.
    </FigureCard>
  );
}

/** Preference by model. It is folded while the round runs, because annotators should not see it. */
function Sides({ round, sides }: { round: Round; sides: readonly RoundSide[] }) {
  return (
    <Card aria-label="Which model is preferred" title="Which model is preferred">
      <details open={round.status === "closed"}>
        <summary>{round.status === "closed" ? "By how much" : "Show it (better not before you have answered)"}</summary>
        <Table label="Models" look="plain" head={["Model", "Preferred", "Won / lost / tied"]}>
          {sides.map((side, index) => (
            <tr key={index}>
              <th scope="row">
                <SideName policy={round.policies?.[side.policy]} side={side} />
              </th>
              <td>{percent(winRate(side))}</td>
              <td>
                {side.wins} / {side.losses} / {side.ties}
              </td>
            </tr>
          ))}
        </Table>
        <Note>A tie counts one half for each.</Note>
      </details>
    </Card>
  );
}

function SideName({ policy, side }: { policy: RoundPolicy | undefined; side: RoundSide }) {
  return policy ? <PolicyName policy={policy} /> : <>{side.model ?? side.checkpoint ?? "a model"}</>;
}
