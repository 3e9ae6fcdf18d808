import type uPlot from "uplot";
import type { Column } from "@/charts/columns";
import { faint, type Palette } from "@/charts/palette";
import { number } from "@/lib/format";

interface PlotLook {
  readonly columns: readonly Column[];
  /** The metrics on the right axis. */
  readonly right: ReadonlySet<string>;
  readonly palette: Palette;
  readonly healthy: Healthy | null;
  readonly width: number;
  readonly height: number;
}

interface PlotEvents {
  readonly syncKey: string;
  readonly onStep: (step: number | null) => void;
  readonly onZoom: (from: number, to: number) => void;
  readonly onReset: () => void;
}

const FONT = '11px system-ui, "Segoe UI", sans-serif';

export function plotOptions(look: PlotLook, events: PlotEvents): uPlot.Options {
  return {
    width: look.width,
    height: look.height,
    padding: [8, look.right.size ? 0 : 20, 0, 0],
    legend: { show: false },
    scales: { x: { time: false, range: (_, min, max) => (min === max ? [min - 1, max + 1] : [min, max]) } },
    series: [{}, ...look.columns.map((column) => seriesOf(column, look))],
    bands: bandsOf(look),
    axes: axesOf(look),
    cursor: cursorOf(look, events),
    hooks: {
      drawClear: look.healthy ? [healthyMarks(look.healthy, look.palette)] : [],
      setCursor: [(plot) => events.onStep(stepUnder(plot))],
      setSelect: [(plot) => select(plot, events)],
    },
  };
}

function colourOf(name: string, columns: readonly Column[], palette: Palette): string {
  const names = [...new Set(columns.map((column) => column.name))];
  return palette.lines[names.indexOf(name) % palette.lines.length] ?? palette.text;
}

function seriesOf({ name, role, sparse }: Column, look: PlotLook): uPlot.Series {
  const colour = colourOf(name, look.columns, look.palette);
  const scale = look.right.has(name) ? "right" : "y";
  if (role === "max" || role === "min") return { scale, width: 0, points: { show: false } };
  if (role === "raw") return { scale, stroke: faint(colour, 0.28), width: 1, points: { show: false } };
  return {
    scale,
    stroke: colour,
    width: 1.6,
    points: { show: sparse && isRoomy, size: 5, fill: look.palette.surface },
  };
}

const MOST_MARKS = 40;

/** Whether there are few enough points for each to have its mark. */
function isRoomy(plot: uPlot, series: number, from: number, to: number): boolean {
  const shown = Array.from(plot.data[series] ?? []).slice(from, to + 1);
  return shown.filter((value) => typeof value === "number").length <= MOST_MARKS;
}

function bandsOf({ columns, palette }: PlotLook): uPlot.Band[] {
  return columns.flatMap((column, index) => {
    const min = columns.findIndex((other) => other.name === column.name && other.role === "min");
    if (column.role !== "max" || min < 0) return [];
    return [
      { series: [index + 1, min + 1] as [number, number], fill: faint(colourOf(column.name, columns, palette), 0.16) },
    ];
  });
}

function axesOf({ right, columns, palette }: PlotLook): uPlot.Axis[] {
  const values: uPlot.Axis.Values = (_, splits) => splits.map((value) => number(value));
  const common = { font: FONT, ticks: { show: false }, gap: 4 };
  const grid = { stroke: palette.grid, width: 1 };
  const axes: uPlot.Axis[] = [
    { ...common, stroke: palette.text, grid, size: 22, space: 60, values },
    { ...common, stroke: palette.text, grid, size: 44, space: 32, values },
  ];
  for (const name of right) {
    const stroke = colourOf(name, columns, palette);
    // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- the enum exists in the types only
    axes.push({ ...common, scale: "right", side: 1, stroke, grid: { show: false }, size: 40, space: 32, values });
  }
  return axes;
}

function cursorOf({ columns, palette }: PlotLook, { syncKey, onReset }: PlotEvents): uPlot.Cursor {
  const isCrosshair = (type: string) => type === "mousemove" || type === "mouseleave";
  return {
    y: false,
    points: {
      size: (_, series) => (columns[series - 1]?.role === "line" ? 7 : 0),
      fill: (_, series) => colourOf(columns[series - 1]?.name ?? "", columns, palette),
    },
    drag: { x: true, y: false, setScale: false },
    sync: { key: syncKey, setSeries: false, filters: { pub: isCrosshair } },
    bind: {
      dblclick: () => () => {
        onReset();
        return null;
      },
    },
  };
}

function stepUnder(plot: uPlot): number | null {
  const { left } = plot.cursor;
  return left === undefined || left < 0 ? null : Math.round(plot.posToVal(left, "x"));
}

function select(plot: uPlot, { onZoom }: PlotEvents): void {
  const { left, width } = plot.select;
  if (width < 6) return;
  onZoom(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

/** Lower and upper bound; null where open. */
export type Healthy = readonly [number | null, number | null];

export const isHealthy = (value: number, [low, high]: Healthy): boolean =>
  (low === null || value >= low) && (high === null || value <= high);

/** Marks the healthy range along the axis, and tints what is outside where the lines went there. Never widens the scale. */
function healthyMarks(healthy: Healthy, palette: Palette): (plot: uPlot) => void {
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
    const { least, greatest } = reached(plot);
    if (healthy[1] !== null && greatest > healthy[1]) ctx.fillRect(left, top, width, high - top);
    if (healthy[0] !== null && least < healthy[0]) ctx.fillRect(left, low, width, top + height - low);
    ctx.fillStyle = faint(palette.good, 0.55);
    ctx.fillRect(left, high, 3 * devicePixelRatio, low - high);
    ctx.restore();
  };
}

/** How far the lines go within what is shown. */
function reached(plot: uPlot): { least: number; greatest: number } {
  const lines = plot.series.slice(1).filter((series) => series.scale === "y");
  const least = Math.min(...lines.map((series) => series.min ?? Infinity));
  const greatest = Math.max(...lines.map((series) => series.max ?? -Infinity));
  return { least, greatest };
}
