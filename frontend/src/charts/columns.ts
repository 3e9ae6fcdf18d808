import uPlot, { type AlignedData } from "uplot";
import type { Series } from "@/charts/series";

/** Part of a chart that a column holds: the line to read, the faint raw line under it, or an edge of the band. */
type Role = "line" | "raw" | "max" | "min";

export interface Column {
  readonly name: string;
  readonly role: Role;
  /** Measured every so many steps: drawn with a mark at each point, and never smoothed. */
  readonly sparse: boolean;
}

export interface ChartData {
  readonly columns: readonly Column[];
  /** Steps first, then one array per column, as uPlot wants them. */
  readonly data: AlignedData;
}

interface Table {
  readonly columns: Column[];
  readonly rows: (number | null)[][];
}

const FEW_POINTS = 4;

/** Aligns the series of one chart on their steps. `weight` is that of the moving average, 0 for none. */
export function toColumns(series: Readonly<Record<string, Series>>, weight: number): ChartData {
  const tables = Object.entries(series)
    .filter(([, one]) => one.steps.length > 0)
    .map(([name, one]) => toTable(name, one, weight));
  if (!tables.length) return { columns: [], data: [[]] };
  return {
    columns: tables.flatMap((table) => table.columns),
    data: uPlot.join(tables.map((table) => table.rows as AlignedData)),
  };
}

function toTable(name: string, series: Series, weight: number): Table {
  // A single point, too, would be invisible as a line.
  const sparse = series.min === null && (series.steps.length === 1 || cadence(series.steps) > 1);
  const broken = breakGaps(series);
  const isSmoothed = weight > 0 && !sparse && series.steps.length >= FEW_POINTS;
  const column = (role: Role): Column => ({ name, role, sparse });
  const table: Table = { columns: [column("line")], rows: [broken.steps, line(broken, isSmoothed ? weight : 0)] };
  if (isSmoothed) add(table, column("raw"), broken.values);
  if (broken.max && broken.min) {
    add(table, column("max"), broken.max);
    add(table, column("min"), broken.min);
  }
  return table;
}

const line = (broken: Broken, weight: number) => (weight > 0 ? smooth(broken.values, weight) : broken.values);

function add(table: Table, column: Column, values: (number | null)[]): void {
  table.columns.push(column);
  table.rows.push(values);
}

/** Two charts with the same shape can exchange data; otherwise the chart is built anew. */
export const shapeOf = (columns: readonly Column[]): string =>
  columns.map(({ name, role, sparse }) => `${name}:${role}:${sparse}`).join("|");

/** A series with `null` where a gap is. */
interface Broken {
  readonly steps: number[];
  readonly values: (number | null)[];
  readonly min: (number | null)[] | null;
  readonly max: (number | null)[] | null;
}

/** The usual distance between two points of a series: 1 for most, 10 for one that is measured every ten steps. */
export function cadence(steps: readonly number[]): number {
  const distances = steps.slice(1).map((step, index) => step - (steps[index] ?? 0));
  distances.sort((a, b) => a - b);
  return distances[distances.length >> 1] ?? 1;
}

/** Puts a `null` into every hole, so that no line is drawn, or smoothed, across it. */
export function breakGaps(series: Series): Broken {
  const usual = cadence(series.steps);
  // Buckets of one series may differ by a step in width, so that 1 and 2 stand side by side without a hole.
  const hole = (series.min ? 2.5 : 1.5) * usual;
  const broken: Broken = { steps: [], values: [], min: series.min && [], max: series.max && [] };
  series.steps.forEach((step, index) => {
    const previous = series.steps[index - 1];
    if (previous !== undefined && step - previous > hole) push(broken, previous + usual / 2, null, null, null);
    const value = series.values[index] ?? null;
    push(broken, step, value, series.min?.[index] ?? value, series.max?.[index] ?? value);
  });
  return broken;
}

function push(broken: Broken, step: number, value: number | null, min: number | null, max: number | null): void {
  broken.steps.push(step);
  broken.values.push(value);
  broken.min?.push(min);
  broken.max?.push(max);
}

/**
 * Exponential moving average, debiased so that the first values are not pulled towards 0. `null` marks a gap. Nothing is
 * drawn there, and the average starts again after it.
 */
export function smooth(values: readonly (number | null)[], weight: number): (number | null)[] {
  let sum = 0;
  let norm = 0;
  return values.map((value) => {
    if (value === null) {
      sum = 0;
      norm = 0;
      return null;
    }
    sum = weight * sum + (1 - weight) * value;
    norm = weight * norm + (1 - weight);
    return norm > 0 ? sum / norm : value;
  });
}
