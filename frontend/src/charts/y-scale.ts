import uPlot from "uplot";
import type { ChartData } from "@/charts/columns";

export type ScaleKind = "linear" | "log" | "symlog";

/** Share of the values that "Clip outliers" leaves outside, on each side. */
const CLIPPED = 0.02;
const MOST_SORTED = 2000;

export type Bounds = readonly [number, number];

/** The scale that values are drawn on. A logarithm exists of positive numbers only, so others are drawn on symlog. */
export const drawnScale = (wanted: ScaleKind, values: Iterable<number>): ScaleKind => {
  if (wanted !== "log") return wanted;
  for (const value of values) if (value <= 0) return "symlog";
  return "log";
};

/** The numbers of one column between two indices. */
export function* numbersOf(data: ChartData["data"], column: number, from = 0, to = Infinity): Generator<number, void> {
  const cells = data[column] ?? [];
  for (let index = Math.max(0, from); index <= Math.min(to, cells.length - 1); index++) {
    const value = cells[index];
    if (typeof value === "number") yield value;
  }
}

/** The bounds between which all but the outermost values lie; null without values. */
export function withoutOutliers(values: Iterable<number>): Bounds | null {
  const all = [...values];
  const stride = Math.max(1, Math.ceil(all.length / MOST_SORTED));
  const some = (stride > 1 ? all.filter((_, index) => index % stride === 0) : all).sort((a, b) => a - b);
  const cut = Math.ceil(some.length * CLIPPED);
  // With a few values, one of them may be the spike. With two or less, both are kept.
  const [low, high] = some.length > 2 * cut ? [some[cut], some[some.length - 1 - cut]] : [some[0], some.at(-1)];
  return low === undefined || high === undefined ? null : [low, high];
}

/** Values nearer to 0 than this are drawn in proportion on symlog: a tenth of the values, as a power of ten. */
export function linearUntil(values: Iterable<number>): number {
  const sizes = [...values].map(Math.abs).filter((size) => size > 0);
  sizes.sort((a, b) => a - b);
  const small = sizes[Math.floor(sizes.length / 10)];
  return small === undefined ? 1 : 10 ** Math.floor(Math.log10(small));
}

/** The range of the axis for values between two bounds. */
export function axisRange(kind: ScaleKind, [low, high]: Bounds): [number, number] {
  if (kind === "log" && low > 0) return [low / LOG_ROOM, high * LOG_ROOM];
  if (kind === "symlog" && low < high) return [low - SYMLOG_ROOM * Math.abs(low), high + SYMLOG_ROOM * Math.abs(high)];
  const [from, to] = uPlot.rangeNum(low, high, 0.1, true);
  return [from ?? 0, to ?? 1];
}

const LOG_ROOM = 1.15;
const SYMLOG_ROOM = 0.05;

const FEWEST_TICKS = 3;

/** Values for the ticks of a logarithmic axis: 1, 2 and 5 of each power of ten, or even distances on a short axis. */
export function logTicks(min: number, max: number, smallest: number): number[] {
  const most = Math.ceil(Math.log10(Math.max(Math.abs(min), Math.abs(max), smallest)));
  const least = Math.floor(Math.log10(smallest));
  const sizes: number[] = [];
  for (let power = least; power <= most; power++) for (const digit of [1, 2, 5]) sizes.push(digit * 10 ** power);
  const inside = [...sizes.map((size) => -size).reverse(), 0, ...sizes].filter((tick) => tick >= min && tick <= max);
  if (inside.length >= FEWEST_TICKS) return inside;
  const rough = 10 ** Math.floor(Math.log10((max - min) / FEWEST_TICKS));
  const step = [1, 2, 5, 10].map((digit) => digit * rough).find((size) => (max - min) / size <= 5) ?? rough;
  const count = Math.floor(max / step) - Math.ceil(min / step) + 1;
  return Array.from({ length: count }, (_, index) => (Math.ceil(min / step) + index) * step);
}

/** How many shown points of the lines lie outside the vertical axis. */
export function pointsOutside(plot: uPlot, { columns, data }: ChartData): number {
  const [from, to] = plot.series[0]?.idxs ?? [0, 0];
  let found = 0;
  columns.forEach(({ role }, index) => {
    const { min = -Infinity, max = Infinity } = plot.scales[plot.series[index + 1]?.scale ?? "y"] ?? {};
    if (role !== "line") return;
    for (const value of numbersOf(data, index + 1, from, to)) if (value < min || value > max) found++;
  });
  return found;
}
