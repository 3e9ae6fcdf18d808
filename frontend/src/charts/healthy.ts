import type uPlot from "uplot";
import { faint, type Palette } from "@/charts/palette";
import { number } from "@/lib/format";

/** Lower and upper bound; null where open. */
export type Healthy = readonly [number | null, number | null];

export const isHealthy = (value: number, [low, high]: Healthy): boolean =>
  (low === null || value >= low) && (high === null || value <= high);

export function healthyText([low, high]: Healthy): string {
  if (low === null) return `at most ${number(high)}`;
  if (high === null) return `at least ${number(low)}`;
  return `${number(low)} to ${number(high)}`;
}

/** Marks the healthy range along the axis, and tints what is outside where the lines went there. Never widens the scale. */
export function drawHealthy(plot: uPlot, healthy: Healthy, palette: Palette): void {
  const { min, max } = plot.scales.y ?? {};
  // Null, whatever the types say, while there is no data.
  if (!Number.isFinite(min) || !Number.isFinite(max) || min === undefined || max === undefined) return;
  const { left, top, width, height } = plot.bbox;
  const y = (bound: number | null, open: number) =>
    plot.valToPos(Math.min(max, Math.max(min, bound ?? open)), "y", true);
  const low = y(healthy[0], min);
  const high = y(healthy[1], max);
  const { ctx } = plot;
  ctx.save();
  ctx.fillStyle = faint(palette.warn, 0.1);
  const { least, greatest } = reached(plot);
  if (healthy[1] !== null && greatest > healthy[1]) ctx.fillRect(left, top, width, high - top);
  if (healthy[0] !== null && least < healthy[0]) ctx.fillRect(left, low, width, top + height - low);
  ctx.fillStyle = faint(palette.good, 0.55);
  ctx.fillRect(left, high, 3 * devicePixelRatio, low - high);
  ctx.restore();
}

/** How far the lines go within what is shown. */
function reached(plot: uPlot): { least: number; greatest: number } {
  const lines = plot.series.slice(1).filter((series) => series.scale === "y");
  const least = Math.min(...lines.map((series) => series.min ?? Infinity));
  const greatest = Math.max(...lines.map((series) => series.max ?? -Infinity));
  return { least, greatest };
}
