/** Where the steps of a run lie on the horizontal axis. The positions themselves are made in positions.ts. */
import type { AxisKind, Range } from "@/charts/axis";
import type { Series } from "@/charts/series";
import type { JobEvent } from "@/lib/api/types";

/** Turns a step into a position on the axis. The position is NaN where the run has none. */
export interface Along {
  (step: number): number;
  /** Whether later steps may have lower positions. */
  readonly scattered?: boolean;
}

export type ByName = Readonly<Record<string, Series>>;

/** Steps, ascending, and their positions. These ascend, too, unless they are the values of a metric. */
export interface Positions {
  readonly steps: readonly number[];
  readonly at: readonly number[];
  /** For the values of a metric: whether they are the means of buckets of steps. */
  readonly metric?: "points" | "buckets";
}

/** The place where a run goes on: the last step of the run before it, and its position on the axis. */
export interface Origin {
  readonly step: number;
  readonly at: number;
}

/** One stage of one run or seed, as far as its positions depend on it. */
export interface Located {
  readonly series: ByName;
  /** With the starts of the stage, for the clock time. */
  readonly log: readonly JobEvent[];
  readonly stage: string;
  readonly origin?: Origin | undefined;
}

export const SECONDS = "time/step";
export const EPISODES = "episode";
export const LENGTH = "val/response_length";

/** The metrics that the common axes are made of. */
export const AXIS_METRICS: readonly string[] = [SECONDS, EPISODES, LENGTH];

/** The common axes that the metrics of a stage offer. */
export function axesOf(names: ReadonlySet<string>): AxisKind[] {
  const axes: AxisKind[] = ["step", "log-step"];
  if (names.has(SECONDS)) axes.push("elapsed", "time");
  if (names.has(EPISODES)) axes.push("episodes");
  if (names.has(EPISODES) && names.has(LENGTH)) axes.push("tokens");
  return axes;
}

/** How a run lies on an axis. Both are null on an axis of steps. */
export interface Placement {
  readonly positions: Positions | null;
  readonly along: Along | null;
}

export const ON_STEPS: Placement = { positions: null, along: null };

/** Positions between known steps, along a straight line; beyond the last known one with the slope of the last piece. */
export function interpolated(steps: readonly number[], positions: readonly number[]): Along {
  const last = steps.length - 1;
  return (step) => {
    if (last < 1) return (positions[0] ?? 0) + (last < 0 ? step : 0);
    let low = 0;
    let high = last;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((steps[middle] ?? 0) <= step) low = middle;
      else high = middle;
    }
    const [a, b] = [steps[low] ?? 0, steps[high] ?? 0];
    const [from, to] = [positions[low] ?? 0, positions[high] ?? 0];
    return from + ((to - from) * (step - a)) / (b - a || 1);
  };
}

/** The steps of a part of the axis; null for all. A part of an axis of a metric is no range of steps, so it gives null, too. */
export function stepsOf(shown: Range | null, positions: Positions | null): Range | null {
  if (!shown || !positions) return shown;
  if (positions.metric) return null;
  const back = interpolated(positions.at, positions.steps);
  return { from: back(shown.from), to: back(shown.to) };
}

/** The step at a position. On an axis of a metric, the step with the nearest value. */
export function stepAt(position: number, positions: Positions | null): number {
  if (!positions) return position;
  const { steps, at, metric } = positions;
  if (!metric) return interpolated(at, steps)(position);
  let nearest = 0;
  at.forEach((value, index) => {
    if (Math.abs(value - position) < Math.abs((at[nearest] ?? Infinity) - position)) nearest = index;
  });
  return steps[nearest] ?? 0;
}
