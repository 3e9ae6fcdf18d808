import type uPlot from "uplot";
import { increments, tickText, valueText } from "@/charts/axis";
import type { PlotLook } from "@/charts/plot-options";
import { logTicks } from "@/charts/y-scale";
import { number } from "@/lib/format";

const FONT = '11px system-ui, "Segoe UI", sans-serif';
/** Pixels between a label and the plot. */
const GAP = 4;

/** The horizontal axis, the one on the left, and the one on the right where a line has it. */
export function plotAxes(look: PlotLook, colourOf: (line: number) => string): uPlot.Axis[] {
  const { palette, unit } = look;
  const kind = look.settings.axis;
  const values: uPlot.Axis.Values = (_, splits) => splits.map((value) => valueText(value, unit, number));
  const positions: uPlot.Axis.Values = (_plot, splits, _axis, _space, increment) =>
    splits.map((value) => tickText(kind, value, increment));
  const common = { font: FONT, ticks: { show: false }, gap: GAP };
  const grid = { stroke: palette.grid, width: 1 };
  const ticks = look.scale === "linear" ? {} : { splits: roomyTicks, filter: (_: uPlot, splits: number[]) => splits };
  const steps = kind === "log-step" ? { splits: stepTicks, filter: (_: uPlot, splits: number[]) => splits } : {};
  const distances = increments(kind);
  const incrs = distances ? { incrs: distances } : {};
  const axes: uPlot.Axis[] = [
    { ...common, ...incrs, ...steps, stroke: palette.text, grid, size: 22, space: 64, values: positions },
    { ...common, ...ticks, scale: "y", stroke: palette.text, grid, size: widthOf(46), space: SPACE, values },
  ];
  const right = look.lines.findIndex((line) => line.right);
  if (right >= 0) {
    const stroke = colourOf(right);
    const rightUnit = look.lines[right]?.unit ?? unit;
    const texts: uPlot.Axis.Values = (_, splits) => splits.map((value) => valueText(value, rightUnit, number));
    const side = { ...common, ...ticks, stroke, grid: { show: false }, size: widthOf(40), space: SPACE, values: texts };
    // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- the enum exists in the types only
    axes.push({ ...side, scale: "right", side: 1 });
  }
  return axes;
}

/** The width of a vertical axis: `usual` pixels, more where a label is longer. */
const widthOf =
  (usual: number): uPlot.Axis.Size =>
  (plot: uPlot, labels: string[] | null) => {
    const longest = (labels ?? []).reduce((long, label) => (label.length > long.length ? label : long), "");
    plot.ctx.font = FONT;
    return Math.max(usual, Math.ceil(plot.ctx.measureText(longest).width) + 2 * GAP);
  };

/** Pixels between two ticks of a vertical axis, and of a logarithmic horizontal one. */
const SPACE = 28;
const ACROSS = 40;

/** The ticks of a logarithmic vertical axis that have room, from the bottom up. */
function roomyTicks(plot: uPlot, axis: number, min: number, max: number): number[] {
  const name = plot.axes[axis]?.scale ?? "y";
  const scale = plot.scales[name];
  const smallest = min > 0 ? min : (scale?.asinh ?? 1);
  return withRoom(plot, name, SPACE, logTicks(min, max, Math.max(smallest, Number.MIN_VALUE)));
}

/** The ticks of a logarithmic horizontal axis: whole numbers. Where 1, 2 and 5 have no room, those of whole decades. */
function stepTicks(plot: uPlot, _axis: number, min: number, max: number): number[] {
  const all = logTicks(min, max, min).filter(Number.isInteger);
  const roomy = withRoom(plot, "x", ACROSS, all);
  const decades = all.filter((tick) => Number.isInteger(Math.log10(tick)));
  return roomy.length < all.length && decades.length > 1 ? withRoom(plot, "x", ACROSS, decades) : roomy;
}

function withRoom(plot: uPlot, scale: string, room: number, ticks: readonly number[]): number[] {
  let latest = Infinity;
  return ticks.filter((tick) => {
    const place = plot.valToPos(tick, scale);
    if (Math.abs(latest - place) < room) return false;
    latest = place;
    return true;
  });
}
