import type { ChartData } from "@/charts/columns";

/** The point of a line that is marked by a dot, and whose value is shown beside the line's name. */
interface Readout {
  /** Place of the point in the chart's data. */
  readonly index: number;
  readonly position: number;
  /** The drawn value: the smoothed one where the line is smoothed. */
  readonly value: number;
  /** The value before smoothing; null where the line is not smoothed. */
  readonly raw: number | null;
}

/** The index of the position nearest to `position`, or -1 without positions. */
export function nearest(positions: readonly number[], position: number): number {
  let low = 0;
  let high = positions.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((positions[middle] ?? Infinity) < position) low = middle;
    else high = middle;
  }
  if (high < 0) return -1;
  return position - (positions[low] ?? 0) <= (positions[high] ?? 0) - position ? low : high;
}

/** The last point of a column at or before an index; null where the column has a gap or begins later. */
export function pointBefore(cells: ChartData["data"][number] | undefined, index: number): number | null {
  for (let at = index; at >= 0; at--) {
    const value = cells?.[at];
    if (value === null) return null;
    if (value !== undefined) return at;
  }
  return null;
}

/** A legend names the highest and the lowest of more lines than these. */
const MOST_NAMED = 8;

/** The lines that a legend names, by their values: all of them, or of many the highest and the lowest. */
export function named(values: readonly (number | null)[]): readonly number[] {
  const all = [...values.keys()];
  if (all.length <= MOST_NAMED) return all;
  const sorted = all.filter((index) => values[index] !== null).sort((a, b) => (values[b] ?? 0) - (values[a] ?? 0));
  return sorted.length > 2 ? [sorted[0] ?? 0, sorted.at(-1) ?? 0] : sorted;
}

/** The point of a line at a position; without a position, its newest point. Null where the line has no point. */
export function readout({ columns, data }: ChartData, line: number, position: number | null): Readout | null {
  const positions = data[0];
  const column = columns.findIndex((one) => one.line === line && one.role === "line") + 1;
  const cells = data[column];
  if (!column || !cells) return null;
  const under = position === null ? positions.length - 1 : nearest(positions, position);
  const index = pointBefore(cells, under);
  const value = index === null ? null : cells[index];
  if (index === null || value === null || value === undefined) return null;
  const raw = columns.findIndex((one) => one.line === line && one.role === "raw") + 1;
  return { index, position: positions[index] ?? 0, value, raw: raw ? (data[raw]?.[index] ?? null) : null };
}
