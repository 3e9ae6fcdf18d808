/** Makes the positions of a run's steps. Only an axis that does not show steps loads this code (see use-axis-code.ts). */
import { type AxisKind, isStepAxis, metricOf } from "@/charts/axis";
import {
  type Along,
  type ByName,
  EPISODES,
  interpolated,
  LENGTH,
  type Located,
  ON_STEPS,
  type Origin,
  type Placement,
  type Positions,
  SECONDS,
} from "@/charts/placement";
import { indexAtOrBefore, type Series } from "@/charts/series";
import type { JobEvent } from "@/lib/api/types";

const ZERO: Origin = { step: 0, at: 0 };

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
