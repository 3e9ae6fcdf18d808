/** Where the steps of a run lie on the horizontal axis. */
import { type AxisKind, isStepAxis, metricOf, type Range } from "@/charts/axis";
import { indexAtOrBefore, type Series } from "@/charts/series";
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

const ZERO: Origin = { step: 0, at: 0 };

/** One stage of one run or seed, as far as its positions depend on it. */
export interface Located {
  readonly series: ByName;
  /** With the starts of the stage, for the clock time. */
  readonly log: readonly JobEvent[];
  readonly stage: string;
  readonly origin?: Origin | undefined;
}

const SECONDS = "time/step";
const EPISODES = "episode";
const LENGTH = "val/response_length";

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

const ON_STEPS: Placement = { positions: null, along: null };

/** Null where the run has not measured what the axis shows. */
export function placementOf(kind: AxisKind, run: Located): Placement | null {
  if (isStepAxis(kind)) return ON_STEPS;
  const positions = positionsOn(kind, run);
  return positions && { positions, along: alongOf(positions) };
}

/** The positions on an axis that does not show steps; null where the run does not report them. */
export function positionsOn(kind: AxisKind, { series, log, stage, origin = ZERO }: Located): Positions | null {
  const metric = metricOf(kind);
  const [seconds, episodes, length] = [SECONDS, EPISODES, LENGTH].map((name) => measured(series, name));
  if (metric !== null) return valuesOf(measured(series, metric));
  if (kind === "elapsed" && seconds) return sums(seconds, 1, origin);
  if (kind === "time" && seconds) return clock(sums(seconds, 1, ZERO), starts(log, stage));
  if (kind === "episodes" && episodes) return withOrigin(episodes.steps, episodes.values, ZERO);
  if (kind === "tokens" && episodes && length) {
    const perStep = (episodes.values.at(-1) ?? 0) / (episodes.steps.at(-1) || 1);
    return sums(length, perStep, origin);
  }
  return null;
}

function measured(series: ByName, name: string): Series | null {
  const one = series[name];
  return one?.steps.length ? one : null;
}

const valuesOf = (series: Series | null): Positions | null =>
  series && { steps: series.steps, at: series.mean ?? series.values, metric: series.n ? "buckets" : "points" };

/** The sum of a metric up to each step, times a factor. A bucket counts its mean once for each of its points. */
function sums({ steps, values, mean, n }: Series, factor: number, origin: Origin): Positions {
  let sum = origin.at;
  const at = values.map((value, index) => (sum += (mean?.[index] ?? value) * (n?.[index] ?? 1) * factor));
  return withOrigin(steps, at, origin);
}

/** With the origin before the first step: at step 0 lie the evaluations before training. */
const withOrigin = (steps: readonly number[], at: readonly number[], origin: Origin): Positions =>
  (steps[0] ?? 0) <= origin.step ? { steps, at } : { steps: [origin.step, ...steps], at: [origin.at, ...at] };

interface Start {
  readonly step: number;
  /** Seconds of the epoch. */
  readonly at: number;
}

/** When the stage began, and when it went on after each pause. */
function starts(log: readonly JobEvent[], stage: string): Start[] {
  const found: Start[] = [];
  for (const event of log) {
    if (event.type !== "stage_started" || event.stage !== stage) continue;
    const start = { step: event.data.start_step, at: Date.parse(event.created_at) / 1000 };
    // A resume takes back the steps after its checkpoint, and the starts among them.
    while ((found.at(-1)?.step ?? -1) >= start.step) found.pop();
    found.push(start);
  }
  return found;
}

/** The time of each step: the start before it, and the seconds that the steps since then have taken. */
function clock(elapsed: Positions, found: readonly Start[]): Positions | null {
  const first = found[0];
  if (!first) return null;
  const secondsAt = interpolated(elapsed.steps, elapsed.at);
  const startOf = (step: number) => found.findLast((start) => start.step < step) ?? first;
  const at = elapsed.steps.map((step) => {
    const start = startOf(step);
    return start.at + secondsAt(step) - secondsAt(start.step);
  });
  return { steps: elapsed.steps, at };
}

/** The position of each step. A metric has one only where it was measured, and between its buckets. */
export function alongOf({ steps, at, metric }: Positions): Along {
  const between = interpolated(steps, at);
  if (!metric) return between;
  const last = steps.at(-1) ?? -Infinity;
  const valueAt = (step: number) => {
    const index = indexAtOrBefore(steps, step);
    if (steps[index] === step) return at[index] ?? NaN;
    return metric === "buckets" && index >= 0 && step <= last ? between(step) : NaN;
  };
  return Object.assign(valueAt, { scattered: true });
}

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

/** The steps of a part of the axis; null for all, also on an axis of a metric, where a part is no range of steps. */
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
