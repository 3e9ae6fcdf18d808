import type { ReactNode } from "react";
import { Card, Cards, Note } from "@/components/card";
import { Notice } from "@/components/notice";
import { Measure } from "@/components/status";
import { Table } from "@/components/table";
import { hasJudge, type Sides, sidesOf } from "@/features/run/model/spec";
import type { Job, SeedResult } from "@/lib/api/types";
import { bestCheckpointOf, bestCheckpointText } from "@/lib/best-checkpoint";
import { count, measured, percent } from "@/lib/format";
import { cameToEnd } from "@/lib/seeds";
import styles from "./results.module.css";

interface ResultsTabProps {
  job: Job;
  summary: Readonly<Record<string, number>>;
  /** The seeds that the figures are the means over; empty for the figures of one run. */
  seeds: readonly SeedResult[];
  waiting: boolean;
  /** The completions behind the figures. */
  children: ReactNode;
}

/** Result of the evaluation: the trained policy against the one before it, on held-out prompts. */
export function ResultsTab({ job, summary, seeds, waiting, children }: ResultsTabProps) {
  const sides = sidesOf(job.spec, job.inputs);
  if (summary.win_rate === undefined) {
    return (
      <Notice title={waiting ? "Not evaluated yet" : "Not evaluated"}>
        <p>
          {waiting
            ? "At the end, the trained policy and the one before it answer the same held-out prompts. The result appears here."
            : "The job ended before its evaluation."}
        </p>
      </Notice>
    );
  }
  return (
    <>
      <Cards>
        <WinRate summary={summary} seeds={seeds} sides={sides} judged={hasJudge(job.spec)} />
        <Comparison summary={summary} seeds={seeds} sides={sides} />
      </Cards>
      <h2 className={styles.prompts}>The same prompts, before and after</h2>
      {children}
    </>
  );
}

type Summary = Readonly<Record<string, number>>;

const PAIRS = [
  { label: "Judge", before: "judge_before", after: "judge_after" },
  { label: "Score", before: "score_before", after: "score_after" },
  { label: "Length in tokens", before: "length_before", after: "length_after" },
  { label: "Finished share", before: "eos_rate_before", after: "eos_rate_after" },
];

/** pass@k for each k of the summary, ascending. */
const passes = (summary: Summary): typeof PAIRS =>
  Object.keys(summary)
    .flatMap((name) => /^pass_at_(\d+)_after$/.exec(name)?.[1] ?? [])
    .sort((one, other) => Number(one) - Number(other))
    .map((k) => ({ label: `pass@${k}`, before: `pass_at_${k}_before`, after: `pass_at_${k}_after` }));

/** Before and after, figure by figure. */
function Comparison({ summary, seeds, sides }: { summary: Summary; seeds: readonly SeedResult[]; sides: Sides }) {
  const over = meansOver(seeds);
  const pairs = [...passes(summary), ...PAIRS].filter(
    ({ before, after }) => summary[before] !== undefined && summary[after] !== undefined,
  );
  return (
    <Card aria-label="Before and after" title={`Mean over the held-out prompts${over && `, ${over}`}`}>
      <Table
        label="Means over the held-out prompts"
        look="plain"
        head={[<td key="none" />, sides.before, sides.after, "Change"]}
      >
        {pairs.map(({ label, before, after }) => (
          <Pair key={label} label={label} before={summary[before] ?? NaN} after={summary[after] ?? NaN} />
        ))}
      </Table>
      <Note>
        {summary.kl !== undefined && `KL to the policy as it began ${measured(summary.kl)} nats per response.`}
        {summary.reward_model_accuracy !== undefined &&
          ` The reward model agrees with ${percent(summary.reward_model_accuracy, 1)} of the held-out labels.`}
      </Note>
    </Card>
  );
}

function Pair({ label, before, after }: { label: string; before: number; after: number }) {
  const change = after - before;
  return (
    <tr>
      <th scope="row">{label}</th>
      <td>{measured(before)}</td>
      <td>{measured(after)}</td>
      <td>{`${change > 0 ? "+" : ""}${measured(change)}`}</td>
    </tr>
  );
}

/** `mean of 3 seeds`; empty for one run. */
const meansOver = (seeds: readonly SeedResult[]): string =>
  seeds.length ? `mean of ${count(seeds.filter(cameToEnd).length, "seed")}` : "";

interface WinRateProps {
  summary: Readonly<Record<string, number>>;
  seeds: readonly SeedResult[];
  sides: Sides;
  /** Whether the job names a judge of its own. */
  judged: boolean;
}

/** The headline, with its uncertainty drawn to scale. */
function WinRate({ summary, seeds, sides, judged }: WinRateProps) {
  const { win_rate: rate = 0, win_rate_low: low, win_rate_high: high, rm_win_rate: byModel } = summary;
  const best = bestCheckpointOf({}, summary);
  const over = meansOver(seeds);
  return (
    <Card aria-label="Win rate" title={`${sides.after} against ${sides.before}, win rate${over && `, ${over}`}`}>
      <p className={styles.rate}>{percent(rate, 1)}</p>
      {low !== undefined && high !== undefined && (
        <>
          <Measure share={rate} low={low} high={high} label="Win rate" filled={false} even />
          <p className={styles.ends} aria-hidden>
            <span>0 %</span>
            <span>no difference</span>
            <span>100 %</span>
          </p>
          <p>
            95 % interval {over && "over the seeds "}
            {percent(low, 1)} to {percent(high, 1)}.
          </p>
        </>
      )}
      {best?.again && <p>{bestCheckpointText(best)}</p>}
      <Note>
        {judged
          ? `Judged by the judge that the job names, on the same held-out prompts.${byModel === undefined ? "" : ` By the job's own rewards: ${percent(byModel, 1)}.`}`
          : "Judged by the job's own rewards, on the same held-out prompts. Name a judge in the spec for an independent view."}
      </Note>
    </Card>
  );
}
