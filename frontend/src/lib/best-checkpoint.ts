import type { Checkpoint } from "@/lib/api/types";
import { percent } from "@/lib/format";

type Summary = Readonly<Record<string, number>>;
type SeriesByName = Readonly<Record<string, { readonly steps: readonly number[]; readonly values: readonly number[] }>>;

/** The best checkpoint of PPO. The trainer chooses it (`trainer/selection.py`); the dashboard never does. */
export interface BestCheckpoint {
  readonly step: number;
  /** Its win rate in the evaluation that chose it. It is the highest of several measurements, and so too high. */
  readonly chosenBy: number | null;
  /** The measurement of the evaluation stage, with new completions; null before it. */
  readonly again: { readonly rate: number; readonly low: number | null; readonly high: number | null } | null;
  /** Whether it is the last checkpoint, so that both have one measurement. */
  readonly isLast: boolean;
  /** Whether the last checkpoint was measured as at least as good. */
  readonly lastIsAsGood: boolean;
}

/** The checkpoints of PPO that can be used: of one seed of a job with several, or (null) of a job with one. */
export const policiesOf = <C extends Pick<Checkpoint, "stage" | "seed" | "damage">>(
  checkpoints: readonly C[],
  seed: number | null,
): C[] => checkpoints.filter((one) => one.stage === "ppo" && one.seed === seed && one.damage === null);

/** The step of the best evaluation so far; null before the first, and in runs from before this metric. */
export function bestStepOf(series: SeriesByName): number | null {
  return series["eval/best_step"]?.values.at(-1) ?? null;
}

/**
 * `summary`: the figures of PPO and of the evaluation stage, as far as they have ended. `kept`: the step of the checkpoint that
 * is kept as the best, for runs without the metric.
 */
export function bestCheckpointOf(
  series: SeriesByName,
  summary: Summary,
  kept: number | null = null,
): BestCheckpoint | null {
  const step = summary.best_step ?? bestStepOf(series) ?? kept;
  if (step === null) return null;
  const { best_win_rate: rate, win_rate: last } = summary;
  return {
    step,
    chosenBy: summary.selection_win_rate ?? at(series["eval/win_rate"], step),
    again:
      rate === undefined
        ? null
        : { rate, low: summary.best_win_rate_low ?? null, high: summary.best_win_rate_high ?? null },
    // The evaluation measures one policy once: where the last checkpoint is the best, all figures are the same.
    isLast: rate !== undefined && rate === last && summary.best_kl === summary.kl,
    lastIsAsGood: rate !== undefined && last !== undefined && last >= rate,
  };
}

/** The same sentences on every page. */
export function bestCheckpointText({ step, chosenBy, again, isLast, lastIsAsGood }: BestCheckpoint): string {
  if (isLast) return `The best checkpoint is the last one (step ${step}).`;
  const chosen = chosenBy === null ? "" : `, chosen during PPO with a win rate of ${percent(chosenBy, 1)}`;
  const sentences = [`Best checkpoint: step ${step}${chosen}.`];
  if (again) {
    const { rate, low, high } = again;
    const interval = low === null || high === null ? "" : `, 95 % interval ${percent(low, 1)} to ${percent(high, 1)}`;
    sentences.push(`Measured again with new completions: ${percent(rate, 1)}${interval}.`);
    if (lastIsAsGood) sentences.push("The last checkpoint is at least as good in the same measurement.");
  }
  return sentences.join(" ");
}

function at(series: SeriesByName[string] | undefined, step: number): number | null {
  return series?.values[series.steps.indexOf(step)] ?? null;
}
