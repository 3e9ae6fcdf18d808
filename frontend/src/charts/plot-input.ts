import { type ChartData, type ChartLine, shapeOf } from "@/charts/columns";
import type { ChartsShared } from "@/charts/group";
import type { Healthy } from "@/charts/healthy";
import type { ScaleKind } from "@/charts/y-scale";

/** The contents and the look of a plot. */
export interface PlotInput {
  readonly lines: readonly ChartLine[];
  readonly unit: string;
  readonly healthy: Healthy | null;
  readonly height: number;
  readonly shared: ChartsShared;
  /** Changes when the colours do. */
  readonly scheme: string;
}

export const same = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((one, index) => one === b[index]);

/** Two drawings of equal values look the same. */
export const inputsOf = ({ lines, shared, unit, healthy, height, scheme }: PlotInput): unknown[] => [
  ...[shared, unit, healthy?.join(), height, scheme],
  ...lines.flatMap((line) => [...partsOf(line), line.right, line.colour, line.dashed, line.thin]),
];

export const partsOf = ({ key, series, along }: ChartLine) => [key, series, along ?? null];

/** Names what the plot is built for. Another key needs a new plot; other data are only fed to it. */
export function keyOf({ lines, unit, healthy, shared, scheme }: PlotInput, chart: ChartData, scale: ScaleKind): string {
  const looks = lines.map(({ key, right, colour, dashed, thin }) => `${key} ${right} ${colour} ${dashed} ${thin}`);
  const { axis, clip } = shared.settings;
  return [shapeOf(chart.columns), ...looks, unit, healthy?.join(), axis, clip, scheme, scale].join("\n");
}
