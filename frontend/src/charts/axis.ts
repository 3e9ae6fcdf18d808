import { bytes, clock, duration, measured, number } from "@/lib/format";

/** "elapsed" and "time" are seconds, the others whole numbers. "log-step" is logarithmic, from step 1. */
export type CommonAxis = "step" | "log-step" | "elapsed" | "time" | "tokens" | "episodes";

/** Kind of the horizontal axis: a common one, or the values of a metric of the stage. */
export type AxisKind = CommonAxis | `metric:${string}`;

const METRIC = "metric:";

export const metricAxis = (name: string): AxisKind => `${METRIC}${name}`;

/** The name of the metric whose values an axis shows; null for a common axis. */
export const metricOf = (kind: AxisKind): string | null => (kind.startsWith(METRIC) ? kind.slice(METRIC.length) : null);

export const isStepAxis = (kind: AxisKind): boolean => kind === "step" || kind === "log-step";

export const AXIS_NAMES: Record<CommonAxis, string> = {
  step: "Step",
  "log-step": "Step, logarithmic",
  elapsed: "Time since the start",
  time: "Clock time",
  tokens: "Tokens",
  episodes: "Episodes",
};

/** The name of an axis inside a sentence. `metric`: the label of the metric whose values it shows. */
export const axisText = (kind: AxisKind, metric: string): string =>
  metricOf(kind) === null ? AXIS_NAMES[kind as CommonAxis].toLowerCase() : metric;

export interface Range {
  readonly from: number;
  readonly to: number;
}

/** Both ranges in one; a missing one counts as empty. */
export const around = (a: Range | null, b: Range | null): Range | null =>
  a && b ? { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) } : (a ?? b);

/** The distances between ticks that suit an axis; null where uPlot's own do. Steps have no fractions. */
export function increments(kind: AxisKind): number[] | null {
  if (kind === "time" || metricOf(kind) !== null) return null;
  const decades = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();
  if (kind !== "elapsed") return decades;
  return [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400].concat(
    decades.slice(0, 12).map((days) => days * 86_400),
  );
}

const DAY = 86_400;

/** Text of a tick. `increment` is the distance between two of them. */
export function tickText(kind: AxisKind, value: number, increment: number): string {
  if (kind === "elapsed") return elapsed(value, increment);
  if (metricOf(kind) !== null) return number(value);
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

/** A position for the legend, such as "step 120". `name`: that of the metric of the axis. */
export function positionText(kind: AxisKind, value: number, name = metricOf(kind) ?? ""): string {
  if (kind === "elapsed") return duration(value);
  if (kind === "time") return clock(new Date(value * 1000).toISOString());
  if (metricOf(kind) !== null) return `${name} ${measured(value)}`;
  const whole = Math.round(value).toLocaleString("en-US");
  return isStepAxis(kind) ? `step ${whole}` : `${whole} ${kind}`;
}

/** A value with a unit that has a form of its own; other units stand at the title of the chart. */
export const valueText = (value: number, unit: string, text: (value: number) => string): string =>
  unit === "bytes" ? bytes(value) : text(value);
