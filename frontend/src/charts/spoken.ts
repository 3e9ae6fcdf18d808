import { positionText, valueText } from "@/charts/axis";
import type { ChartData, ChartLine } from "@/charts/columns";
import type { Drawn } from "@/charts/drawn";
import type { ChartsShared } from "@/charts/group";
import { readout } from "@/charts/readout";
import { measured } from "@/lib/format";

/** The first, the last, the lowest and the highest of the drawn values of a line. */
interface Course {
  readonly first: number;
  readonly last: number;
  readonly low: number;
  readonly high: number;
}

/** Null for a line without points. */
export function courseOf({ columns, data }: ChartData, line: number): Course | null {
  const column = columns.findIndex((one) => one.line === line && one.role === "line") + 1;
  const values = column ? (data[column] ?? []).filter((value) => typeof value === "number") : [];
  const [first, last] = [values[0], values.at(-1)];
  if (first === undefined || last === undefined) return null;
  const low = values.reduce((least, value) => Math.min(least, value));
  const high = values.reduce((most, value) => Math.max(most, value));
  return { first, last, low, high };
}

/** The values under the crosshair, for a screen reader. Without a crosshair, the course of each line. */
export function legendText(
  { chart }: Drawn,
  lines: readonly ChartLine[],
  position: number | null,
  { settings: { axis }, axisName }: Pick<ChartsShared, "settings" | "axisName">,
): string {
  const values = lines.flatMap((line, index) => {
    const text = (value: number) => valueText(value, line.unit ?? "", measured);
    const name = line.title ?? line.label;
    const found = readout(chart, index, position);
    if (!found) return [];
    const course = position === null ? courseOf(chart, index) : null;
    if (!course) return [`${name} ${text(found.value)}`.trim()];
    const { first, last, low, high } = course;
    return [`${name} from ${text(first)} to ${text(last)}, lowest ${text(low)}, highest ${text(high)}`.trim()];
  });
  return [...(position === null ? [] : [positionText(axis, position, axisName || undefined)]), ...values].join(
    position === null ? "; " : ", ",
  );
}
