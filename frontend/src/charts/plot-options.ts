import type uPlot from "uplot";
import type { ChartData, ChartLine, Column } from "@/charts/columns";
import type { ChartSettings } from "@/charts/group";
import { drawHealthy, type Healthy } from "@/charts/healthy";
import { drawMarks, type PlacedMark } from "@/charts/marks";
import { plotAxes } from "@/charts/plot-axes";
import { dashOf, faint, type Palette } from "@/charts/palette";
import { pointBefore } from "@/charts/readout";
import { axisRange, type Bounds, linearUntil, numbersOf, type ScaleKind, withoutOutliers } from "@/charts/y-scale";

/** The inputs of a plot's construction. When one changes, the plot is built anew. */
export interface PlotLook {
  readonly columns: readonly Column[];
  readonly lines: readonly ChartLine[];
  readonly unit: string;
  readonly settings: ChartSettings;
  /** The scale of the values on the left, after `drawnScale`. */
  readonly scale: ScaleKind;
  readonly palette: Palette;
  readonly healthy: Healthy | null;
  readonly marks: () => readonly PlacedMark[];
  readonly width: number;
  readonly height: number;
}

interface PlotEvents {
  readonly onCursor: (plot: uPlot) => void;
  readonly onSelect: (plot: uPlot) => void;
  readonly onReset: () => void;
  /** Whether a press of the mouse begins to move the shown part. */
  readonly onPress: (plot: uPlot, event: MouseEvent) => boolean;
}

const Y_SCALES = ["y", "right"] as const;

export function plotOptions(look: PlotLook, data: ChartData["data"], events: PlotEvents): uPlot.Options {
  const hasRight = look.lines.some((line) => line.right);
  return {
    width: look.width,
    height: look.height,
    padding: [8, hasRight ? 0 : 16, 0, 0],
    legend: { show: false },
    scales: scalesOf(look, data),
    series: [{}, ...look.columns.map((column) => seriesOf(column, look))],
    bands: bandsOf(look),
    axes: plotAxes(look, (line) => colourOf(line, look)),
    cursor: cursorOf(look, events),
    hooks: {
      drawClear: [(plot) => thin(plot, look), (plot) => look.healthy && drawHealthy(plot, look.healthy, look.palette)],
      draw: [(plot) => drawMarks(plot, look.marks(), look.palette)],
      setCursor: [events.onCursor],
      setSelect: [events.onSelect],
    },
  };
}

const DISTRIBUTION = { linear: 1, log: 3, symlog: 4 } as const;

function scalesOf(look: PlotLook, data: ChartData["data"]): uPlot.Scales {
  const isLog = look.settings.axis === "log-step";
  const scales: uPlot.Scales = {
    x: {
      time: look.settings.axis === "time",
      // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- the enum exists in the types only
      distr: DISTRIBUTION[isLog ? "log" : "linear"],
      range: (_, min, max) => (min < max ? [min, max] : isLog ? [min / 2, max * 2] : [min - 1, max + 1]),
    },
  };
  for (const name of Y_SCALES) {
    const columns = look.columns.flatMap(({ line }, index) => (sideOf(look, line) === name ? [index + 1] : []));
    scales[name] = {
      // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- the enum exists in the types only
      distr: DISTRIBUTION[look.scale],
      asinh: look.scale === "symlog" ? linearUntil(all(data, columns)) : 1,
      // Null, whatever the types say, while no point is shown.
      range: (plot, low: number | null, high: number | null) =>
        axisRange(look.scale, boundsOf(plot, look, name) ?? [low ?? 0, high ?? 1]),
    };
  }
  return scales;
}

const sideOf = (look: PlotLook, line: number) => (look.lines[line]?.right ? "right" : "y");

function* all(data: ChartData["data"], columns: readonly number[]): Iterable<number> {
  for (const column of columns) yield* numbersOf(data, column);
}

/** The bounds without outliers of the shown points, where outliers are to be clipped. */
function boundsOf(plot: uPlot, look: PlotLook, name: string): Bounds | null {
  if (!look.settings.clip) return null;
  const [from, to] = plot.series[0]?.idxs ?? [0, Infinity];
  const values = look.columns.flatMap(({ line, role }, index) =>
    role === "line" && sideOf(look, line) === name
      ? [...numbersOf(plot.data as ChartData["data"], index + 1, from, to)]
      : [],
  );
  return withoutOutliers(values);
}

function colourOf(line: number, look: PlotLook): string {
  const colours = look.palette.lines;
  return colours[(look.lines[line]?.colour ?? line) % colours.length] ?? look.palette.text;
}

function seriesOf({ line, role }: Column, look: PlotLook): uPlot.Series {
  const colour = colourOf(line, look);
  const scale = sideOf(look, line);
  if (role === "max" || role === "min") return { scale, width: 0, points: { show: false } };
  if (look.lines[line]?.thin && role === "line")
    return {
      scale,
      stroke: faint(colour, look.lines[line].dashed ? 0.75 : 0.5),
      width: THIN_WIDTH,
      dash: look.lines[line].dashed ? [6, 4] : [],
      points: { show: isAlone, size: 5, fill: look.palette.surface },
    };
  if (role === "raw") return { scale, stroke: faint(colour, 0.28), width: 1, points: { show: false } };
  return {
    scale,
    stroke: colour,
    width: LINE_WIDTH,
    dash: look.lines[line]?.dashed ? [6, 4] : [...dashOf(look.lines[line]?.colour ?? 0)],
    points: { show: isRoomy, size: 5, fill: look.palette.surface },
  };
}

const LINE_WIDTH = 1.6;
const THIN_WIDTH = 1;

/** Makes lines with more points than pixels thin. Without a graphics processor, a browser draws thin lines six times as fast. */
function thin(plot: uPlot, { columns, lines }: PlotLook): void {
  const [from, to] = plot.series[0]?.idxs ?? [0, 0];
  const isDense = to - from > plot.bbox.width / devicePixelRatio;
  columns.forEach(({ line, role }, index) => {
    const series = plot.series[index + 1];
    if (series && role === "line" && !lines[line]?.thin) series.width = isDense ? THIN_WIDTH : LINE_WIDTH;
  });
}

const MOST_MARKS = 40;

/** Whether a line has a single point, which only a mark shows. */
function isAlone(plot: uPlot, series: number): boolean {
  const values = numbersOf(plot.data as ChartData["data"], series);
  return !values.next().done && values.next().done === true;
}

/** Whether there are few enough points for each to have its mark. */
function isRoomy(plot: uPlot, series: number, from: number, to: number): boolean {
  const values = numbersOf(plot.data as ChartData["data"], series, from, to);
  for (let found = 0; found <= MOST_MARKS; found++) if (values.next().done) return true;
  return false;
}

function bandsOf(look: PlotLook): uPlot.Band[] {
  return look.columns.flatMap(({ line, role }, index) => {
    const min = look.columns.findIndex((other) => other.line === line && other.role === "min");
    if (role !== "max" || min < 0) return [];
    return [{ series: [index + 1, min + 1] as [number, number], fill: faint(colourOf(line, look), 0.16) }];
  });
}

function cursorOf(look: PlotLook, events: PlotEvents): uPlot.Cursor {
  return {
    y: false,
    points: {
      size: (_, series) => (look.columns[series - 1]?.role === "line" ? 7 : 0),
      fill: (_, series) => colourOf(look.columns[series - 1]?.line ?? 0, look),
    },
    // The dot is at the point whose value the legend shows.
    dataIdx: (plot, series, index) => pointBefore((plot.data as ChartData["data"])[series], index) ?? index,
    drag: { x: true, y: false, setScale: false },
    bind: {
      mousedown: (plot, _, press) => (event) => (events.onPress(plot, event) ? null : press(event)),
      dblclick: () => () => {
        events.onReset();
        return null;
      },
    },
  };
}
