import { type AxisKind, isStepAxis, metricOf } from "@/charts/axis";
import type { ChartLine } from "@/charts/columns";

const quoted = (cell: string): string => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

const COLUMN: Partial<Record<AxisKind, string>> = { elapsed: "seconds" };

interface Row {
  /** Null for a point of a mean over runs that share no steps. */
  readonly step: number | null;
  /** The position on the axis. */
  readonly at: number;
  readonly cells: string[];
}

/**
 * Every point of the lines before smoothing, with least, greatest and mean value of buckets. A row is a step. On an axis
 * that does not show steps, it is a step at a position, since runs reach a step at different positions.
 */
export function csv(lines: readonly ChartLine[], axis: AxisKind): string {
  const isSteps = isStepAxis(axis);
  const rows = new Map<string, Row>();
  const head: string[] = [];
  for (const line of lines) {
    const columns = columnsOf(line);
    line.series.steps.forEach((position, index) => {
      const step = line.placed ? null : position;
      const at = isSteps || line.placed ? position : (line.along?.(position) ?? NaN);
      const key = `${step} ${at}`;
      const row = rows.get(key) ?? { step, at, cells: [] };
      while (row.cells.length < head.length) row.cells.push("");
      row.cells.push(...columns.map(([, values]) => String(values[index] ?? "")));
      rows.set(key, row);
    });
    head.push(...columns.map(([name]) => name));
  }
  const first = isSteps ? ["step"] : ["step", COLUMN[axis] ?? metricOf(axis) ?? axis];
  const body = [...rows.values()].sort(before).map((row) => {
    while (row.cells.length < head.length) row.cells.push("");
    return [String(row.step ?? ""), ...(isSteps ? [] : [positionCell(axis, row.at)]), ...row.cells];
  });
  return `${[[...first, ...head], ...body].map((row) => row.map(quoted).join(",")).join("\n")}\n`;
}

function columnsOf({ key, column = key, series }: ChartLine): [string, readonly number[]][] {
  const columns: [string, readonly number[]][] = [[column, series.values]];
  if (series.min && series.max) columns.push([`${column} min`, series.min], [`${column} max`, series.max]);
  if (series.mean) columns.push([`${column} mean`, series.mean]);
  return columns;
}

/** By position, those without one last, then by step. */
function before(a: Row, b: Row): number {
  const [left, right] = [a, b].map(({ at }) => (Number.isNaN(at) ? Infinity : at));
  return left === right ? (a.step ?? 0) - (b.step ?? 0) : (left ?? 0) - (right ?? 0);
}

function positionCell(axis: AxisKind, at: number): string {
  if (Number.isNaN(at)) return "";
  return axis === "time" ? new Date(at * 1000).toISOString() : String(at);
}
