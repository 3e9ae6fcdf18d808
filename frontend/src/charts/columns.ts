import uPlot, { type AlignedData } from "uplot";
import { cadence } from "@/charts/cadence";
import { placed } from "@/charts/placed";
import type { Along } from "@/charts/placement";
import { emptySeries, type Series } from "@/charts/series";
import { type Average, pointwise, runningMean, smooth, windowOf } from "@/charts/smooth";

/** Part of a chart that a column holds: the line to read, the faint raw line under it, or an edge of the band. */
export type Role = "line" | "raw" | "max" | "min";

/** One line of a chart. */
export interface ChartLine {
  /** Distinguishes the lines of a chart. */
  readonly key: string;
  /** Its name in the legend; empty for the only line. */
  readonly label: string;
  /** Its full name, where the label is shorter. */
  readonly title?: string;
  readonly series: Series;
  /** Whether it is measured on the axis on the right. */
  readonly right?: boolean;
  /** Number of its colour, from 0; without one, its place among the lines. */
  readonly colour?: number;
  readonly dashed?: boolean;
  /** Drawn thin and faint, below the others: one run of those that another line is the mean of. */
  readonly thin?: boolean;
  /** Unit of its values, where it differs from the chart's. */
  readonly unit?: string;
  /** The positions of its steps on the axis; null where the axis shows steps. */
  readonly along?: Along | null;
  /** Whether the steps of its series are positions on the axis already: a mean of several runs. */
  readonly placed?: boolean;
  /** Its name in a file, where its key is none. */
  readonly column?: string;
}

export interface Column {
  /** Place of its line among the lines of the chart. */
  readonly line: number;
  readonly role: Role;
}

type Cells = readonly (number | null | undefined)[];

export interface ChartData {
  readonly columns: readonly Column[];
  /** Positions first, then one array per column, as uPlot wants them. `null` is a gap, `undefined` no point. */
  readonly data: readonly [readonly number[], ...Cells[]];
}

interface Table {
  readonly columns: Column[];
  readonly rows: [readonly number[], ...(readonly (number | null)[])[]];
}

interface Smoothing {
  /** Weight of the moving average, 0 for none. */
  readonly weight: number;
  readonly average: Average;
  /** Width of the whole axis, in its own unit. */
  readonly extent: number;
  /** Whether a bucket counts as one point. On a logarithmic axis a part of the extent is too much for the first points. */
  readonly byPoint?: boolean;
}

const FEW_POINTS = 4;
/** Over a long run, the moving average counts in units of this part of it. */
const UNITS_OF_EXTENT = 1000;

/** Aligns the lines of one chart on their positions. */
export function toColumns(lines: readonly ChartLine[], smoothing: Smoothing): ChartData {
  const bare = lines.map((line) => {
    const found = line.series.steps.length ? rowsOf(line) : null;
    return found?.rows[0].length ? found : null;
  });
  const cadences = bare.flatMap((one, index) => {
    const { steps, n } = lines[index]?.series ?? emptySeries;
    return one ? [smoothing.byPoint ? cadence(steps, n) : cadence(one.rows[0])] : [];
  });
  const unit = Math.max(Math.min(...cadences), smoothing.byPoint ? 0 : smoothing.extent / UNITS_OF_EXTENT);
  const tables = bare.flatMap((one, index) => {
    const line = lines[index];
    if (!one || !line) return [];
    const over = smoothing.byPoint ? pointwise(one.rows[0], line.series) : one.rows[0];
    return [toTable(index, one, smoothing, unit, over, !line.thin)];
  });
  const columns = tables.flatMap((table) => table.columns);
  const [first, ...others] = tables;
  if (!first) return { columns, data: [[]] };
  if (others.every((other) => isSame(other.rows[0], first.rows[0])))
    return { columns, data: [first.rows[0], ...tables.flatMap((table) => table.rows.slice(1))] };
  return {
    columns,
    data: uPlot.join(tables.map((table) => table.rows as unknown as AlignedData)) as ChartData["data"],
  };
}

const isSame = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((value, index) => value === b[index]);

/** Positions and values of a series with `null` where a gap is, and the edges of its band. */
interface Rows {
  readonly rows: readonly [readonly number[], readonly (number | null)[]];
  readonly band: { readonly max: readonly (number | null)[]; readonly min: readonly (number | null)[] } | null;
}

interface Cadence {
  /** The usual distance between two points. */
  readonly usual: number;
  /** Whether points are missing before a row. */
  readonly isHole: (index: number) => boolean;
}

/** A row may stand for several points, and one series has rows of different widths: buckets, and newer points. */
function cadenceOf({ steps, min, n }: Series): Cadence {
  const usual = cadence(steps, n);
  // Buckets of one series may differ by a point, so that 1 and 2 stand side by side without a hole.
  const most = (min ? 2.5 : 1.5) * usual;
  const isHole = (index: number) =>
    index > 0 && (steps[index] ?? 0) - (steps[index - 1] ?? 0) > most * (n?.[index] ?? 1);
  return { usual, isHole };
}

function toTable(
  line: number,
  { rows: [positions, values], band }: Rows,
  { weight, average }: Smoothing,
  unit: number,
  over: readonly number[],
  hasRaw: boolean,
): Table {
  const isSmoothed = weight > 0 && values.length >= FEW_POINTS;
  const smoothed = () =>
    average === "running" ? runningMean(over, values, windowOf(weight) * unit) : smooth(over, values, weight, unit);
  const columns: Column[] = [{ line, role: "line" }];
  const rows: Table["rows"] = [positions, isSmoothed ? smoothed() : values];
  const add = (role: Role, cells: readonly (number | null)[]) => {
    columns.push({ line, role });
    rows.push(cells);
  };
  if (isSmoothed && hasRaw) add("raw", values);
  if (band) {
    add("max", band.max);
    add("min", band.min);
  }
  return { columns, rows };
}

/** Two charts with the same shape can exchange data; otherwise the chart is built anew. */
export const shapeOf = (columns: readonly Column[]): string =>
  columns.map(({ line, role }) => `${line}:${role}`).join("|");

function rowsOf({ series, along = null, placed: isPlaced = false }: ChartLine): Rows {
  if (isPlaced) return withoutHoles(series);
  return along?.scattered ? withoutHoles(placed(series, along)) : toRows(series, along);
}

/** Between values of a metric there are no holes, and neither in a mean. */
const withoutHoles = ({ steps, values, min, max }: Series): Rows => ({
  rows: [steps, values],
  band: min && max ? { max, min } : null,
});

/** Puts a `null` into every hole in the steps, so that no line is drawn, or smoothed, across it. Do not change the arrays. */
export function toRows(series: Series, along: Along | null): Rows {
  const { steps, min, max } = series;
  const drawn = series.mean ?? series.values;
  const { usual, isHole } = cadenceOf(series);
  // A copy would take most of the time that a live run's new step takes.
  if (!along && !steps.some((_, index) => isHole(index)))
    return { rows: [steps, drawn], band: min && max ? { max, min } : null };
  const rows: [number[], (number | null)[]] = [[], []];
  const band = min && max ? { max: [] as (number | null)[], min: [] as (number | null)[] } : null;
  const push = (step: number, value: number | null, low: number | null, high: number | null) => {
    rows[0].push(along ? along(step) : step);
    rows[1].push(value);
    band?.min.push(low);
    band?.max.push(high);
  };
  for (let index = 0; index < steps.length; index++) {
    const step = steps[index] ?? 0;
    if (isHole(index)) push((steps[index - 1] ?? step) + usual / 2, null, null, null);
    const value = drawn[index] ?? null;
    push(step, value, min?.[index] ?? value, max?.[index] ?? value);
  }
  return { rows, band };
}
