import type { Along } from "@/charts/columns";
import { bytes, clock, duration, number } from "@/lib/format";

/** Kind of the horizontal axis. "elapsed" and "time" are seconds, the others whole numbers. "log-step" is logarithmic, from step 1. */
export type AxisKind = "step" | "log-step" | "elapsed" | "time" | "tokens" | "episodes";

export const AXIS_NAMES: Record<AxisKind, string> = {
  step: "Step",
  "log-step": "Step, logarithmic",
  elapsed: "Time since the start",
  time: "Clock time",
  tokens: "Tokens",
  episodes: "Episodes",
};

export interface Range {
  readonly from: number;
  readonly to: number;
}

/** Both ranges in one; a missing one counts as empty. */
export const around = (a: Range | null, b: Range | null): Range | null =>
  a && b ? { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) } : (a ?? b);

/** The distances between ticks that suit an axis. Steps have no fractions. */
export function increments(kind: AxisKind): number[] {
  const decades = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();
  if (kind !== "elapsed" && kind !== "time") return decades;
  return [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400].concat(
    decades.slice(0, 12).map((days) => days * 86_400),
  );
}

const DAY = 86_400;

/** Text of a tick. `increment` is the distance between two of them. */
export function tickText(kind: AxisKind, value: number, increment: number): string {
  if (kind === "elapsed") return elapsed(value, increment);
  if (kind !== "time") return compact(value);
  const at = new Date(value * 1000);
  if (increment >= DAY) return at.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return at.toLocaleTimeString("en-GB", increment < 60 ? {} : { hour: "2-digit", minute: "2-digit" });
}

function elapsed(seconds: number, increment: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (increment >= DAY) return `${Math.round(seconds / DAY)} d`;
  if (increment >= 3600) return `${number(seconds / 3600)} h`;
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)}`;
  const rest = Math.round(seconds % 60);
  return rest ? `${Math.floor(seconds / 60)} min ${rest}` : `${Math.round(seconds / 60)} min`;
}

/** A whole number that fits under an axis: 1,000,000 is 1 M. */
export function compact(value: number): string {
  for (const [size, letter] of [
    [1e9, "G"],
    [1e6, "M"],
    [1e4, "k"],
  ] as const)
    if (Math.abs(value) >= size) return `${Number((value / (size === 1e4 ? 1000 : size)).toPrecision(6))} ${letter}`;
  return number(value, 4);
}

/** A position for the legend, such as "step 120". */
export function positionText(kind: AxisKind, value: number): string {
  if (kind === "elapsed") return duration(value);
  if (kind === "time") return clock(new Date(value * 1000).toISOString());
  const whole = Math.round(value).toLocaleString("en-US");
  return kind === "step" || kind === "log-step" ? `step ${whole}` : `${whole} ${kind}`;
}

/** A value with a unit that has a form of its own; other units stand at the title of the chart. */
export const valueText = (value: number, unit: string, text: (value: number) => string): string =>
  unit === "bytes" ? bytes(value) : text(value);

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
