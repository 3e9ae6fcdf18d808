import { meanWithInterval } from "@/charts/average";
import type { Ended, Figure } from "@/features/compare/model/figures";
import type { Job } from "@/lib/api/types";
import { cameToEnd, type Spread } from "@/lib/seeds";

/** The mean of a figure over the runs of a group, with its 95 % interval and the number of values behind it. */
export interface GroupFigure extends Spread {
  readonly n: number;
}

type Run = Pick<Job, "summary" | "seeds" | "started_at" | "finished_at">;

/** Figures whose values lie from 0 to 1. */
const RATES: readonly string[] = ["win_rate", "eos_rate_after", "reward_model_accuracy"];

/** Figures that belong to a run, not to each of its seeds. */
const OF_RUN: readonly string[] = ["time"];

/** The values of a figure: one for each run, and one for each seed of a run with several. A run without the figure has none. */
function valuesOf(figure: Figure, runs: readonly Run[]): number[] {
  const each = OF_RUN.includes(figure.id) ? runs : runs.flatMap(partsOf);
  return each.flatMap((one) => figure.value(one) ?? []);
}

const partsOf = (run: Run): readonly Ended[] =>
  run.seeds.length
    ? run.seeds.filter(cameToEnd).map(({ summary }) => ({ summary, started_at: null, finished_at: null }))
    : [{ ...run, seeds: [] }];

/**
 * The mean, and its interval of Student's t over the values: mean ± t · s / √n. Shares are cut to 0 and 1, as those over seeds
 * are. Null without a value; no interval with one.
 */
export function groupFigure(figure: Figure, runs: readonly Run[]): GroupFigure | null {
  const values = valuesOf(figure, runs);
  const [first] = values;
  if (first === undefined) return null;
  if (values.length === 1) return { mean: first, low: null, high: null, n: 1 };
  const { mean, half } = meanWithInterval(values);
  const [low, high] = [mean - half, mean + half];
  const isRate = RATES.includes(figure.id);
  return { mean, low: isRate ? Math.max(0, low) : low, high: isRate ? Math.min(1, high) : high, n: values.length };
}

/** The smallest and the largest value, for steps, which have no mean. */
export function rangeText(figure: Figure, runs: readonly Run[]): string | null {
  const values = valuesOf(figure, runs);
  if (!values.length) return null;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low === high ? figure.show(low) : `${figure.show(low)} to ${figure.show(high)}`;
}

/** The runs that have not succeeded, by status: "2 failed, 1 running"; empty without any. */
export function othersText(runs: readonly Pick<Job, "status">[]): string {
  const others = new Map<string, number>();
  for (const { status } of runs) if (status !== "succeeded") others.set(status, (others.get(status) ?? 0) + 1);
  return [...others].map(([status, jobs]) => `${jobs} ${status}`).join(", ");
}
