import type uPlot from "uplot";
import type { ChartData } from "@/charts/columns";
import { numbersOf, type ScaleKind } from "@/charts/y-scale";

/** The result of a drawing, for the legend. */
export interface Drawn {
  readonly chart: ChartData;
  readonly scale: ScaleKind;
  /** Shown points that lie outside the vertical axis. */
  readonly outside: number;
}

export const NOTHING_DRAWN: Drawn = { chart: { columns: [], data: [[]] }, scale: "linear", outside: 0 };

/** Where the crosshair stands. */
export interface Crosshair {
  readonly position: number;
  /** Pixels from the left edge of the plot's element. */
  readonly left: number;
  /** Its place in the drawn area, from 0 at the left to 1. */
  readonly share: number;
}

/** `left`: pixels from the left edge of the drawn area. */
export function crosshairAt(plot: uPlot, position: number, left: number): Crosshair {
  const { bbox } = plot;
  return { position, left: left + bbox.left / devicePixelRatio, share: (left * devicePixelRatio) / bbox.width };
}

/** The values that decide whether a logarithm exists. */
export function* valuesOn({ columns, data }: ChartData, wanted: ScaleKind): Iterable<number> {
  if (wanted === "log") for (const index of columns.keys()) yield* numbersOf(data, index + 1);
}
