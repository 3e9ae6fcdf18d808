import { type AxisKind, interpolated, type Range } from "@/charts/axis";
import type { Along } from "@/charts/columns";
import type { Series } from "@/charts/series";
import type { JobEvent } from "@/lib/api/types";

type ByName = Readonly<Record<string, Series>>;

/** Steps and their positions on an axis, both ascending. */
export interface Positions {
  readonly steps: readonly number[];
  readonly at: readonly number[];
}

const SECONDS = "time/step";
const EPISODES = "episode";
const LENGTH = "val/response_length";

/** The axes that the metrics of a stage offer. */
export function axesOf(series: ByName): AxisKind[] {
  const axes: AxisKind[] = ["step", "log-step"];
  if (has(series, SECONDS)) axes.push("elapsed", "time");
  if (has(series, EPISODES)) axes.push("episodes");
  if (has(series, EPISODES) && has(series, LENGTH)) axes.push("tokens");
  return axes;
}

const has = (series: ByName, name: string): boolean => (series[name]?.steps.length ?? 0) > 0;

/** The positions of a stage's steps on an axis; null for steps themselves, and where the stage does not report them. */
export function positionsOn(kind: AxisKind, series: ByName, log: readonly JobEvent[], stage: string): Positions | null {
  const seconds = series[SECONDS];
  const episodes = series[EPISODES];
  const length = series[LENGTH];
  if (kind === "elapsed" && seconds) return sums(seconds, 1);
  if (kind === "time" && seconds) return clock(sums(seconds, 1), starts(log, stage));
  if (kind === "episodes" && episodes) return fromZero(episodes.steps, episodes.values);
  if (kind === "tokens" && episodes && length) {
    const perStep = (episodes.values.at(-1) ?? 0) / (episodes.steps.at(-1) ?? 1);
    return sums(length, perStep);
  }
  return null;
}

/** The sum of a metric up to each step, times a factor. A bucket counts its mean once for each of its points. */
function sums({ steps, values, mean, n }: Series, factor: number): Positions {
  let sum = 0;
  const at = values.map((value, index) => (sum += (mean?.[index] ?? value) * (n?.[index] ?? 1) * factor));
  return fromZero(steps, at);
}

/** With step 0 at 0, where evaluations before the first step lie. */
const fromZero = (steps: readonly number[], at: readonly number[]): Positions =>
  steps[0] === 0 ? { steps, at } : { steps: [0, ...steps], at: [0, ...at] };

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

export const alongOf = (positions: Positions | null): Along | null =>
  positions && interpolated(positions.steps, positions.at);

/** The steps of a part of the axis. */
export function stepsOf(shown: Range | null, positions: Positions | null): Range | null {
  if (!shown || !positions) return shown;
  const back = interpolated(positions.at, positions.steps);
  return { from: back(shown.from), to: back(shown.to) };
}
