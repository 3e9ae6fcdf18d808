import type uPlot from "uplot";
import { faint, type Palette } from "@/features/run/charts/palette";

/** Lower and upper bound; null where open. */
export type Healthy = readonly [number | null, number | null];

export const isHealthy = (value: number, [low, high]: Healthy): boolean =>
  (low === null || value >= low) && (high === null || value <= high);

/** Tints what lies outside the healthy range, and marks the range itself along the axis. Never widens the scale. */
export function healthyMarks(healthy: Healthy, palette: Palette): (plot: uPlot) => void {
  return (plot) => {
    const { min, max } = plot.scales.y ?? {};
    // Null, whatever the types say, while there is no data.
    if (!Number.isFinite(min) || !Number.isFinite(max) || min === undefined || max === undefined) return;
    const { left, top, width, height } = plot.bbox;
    const y = (bound: number | null, open: number) => {
      const value = Math.min(max, Math.max(min, bound ?? open));
      return plot.valToPos(value, "y", true);
    };
    const low = y(healthy[0], min);
    const high = y(healthy[1], max);
    const { ctx } = plot;
    ctx.save();
    ctx.fillStyle = faint(palette.warn, 0.1);
    ctx.fillRect(left, top, width, high - top);
    ctx.fillRect(left, low, width, top + height - low);
    ctx.fillStyle = faint(palette.good, 0.55);
    ctx.fillRect(left, high, 3 * devicePixelRatio, low - high);
    ctx.restore();
  };
}
