import uPlot, { type AlignedData } from "uplot";
import { breakGaps, type Broken, cadence } from "@/charts/gaps";
import type { Series } from "@/charts/series";
import { smooth } from "@/charts/smooth";

/** What a column of the chart's data is: the line to read, the faint raw line under it, or an edge of the band. */
export type Role = "line" | "raw" | "max" | "min";

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
