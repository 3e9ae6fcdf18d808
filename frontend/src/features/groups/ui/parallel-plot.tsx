import { useCallback, useMemo } from "react";
import type uPlot from "uplot";
import type { AlignedData } from "uplot";
import { faint, type Palette } from "@/charts/palette";
import type { GroupJob } from "@/features/groups/api";
import { type Axis, axisOf } from "@/features/groups/model/axes";
import { Plot, type PlotOptions } from "@/features/groups/ui/plot";
import { fieldName } from "@/lib/names";

interface ParallelPlotProps {
  jobs: readonly GroupJob[];
  parameters: readonly string[];
  /** Label of the objective, the last axis. */
  label: string;
  /** Id of the run that stands out. */
  chosen: string | null;
  onChosen: (id: string) => void;
  goal: "maximize" | "minimize";
}

const MARGIN = { top: 34, bottom: 14 };

/** A line for each run through its parameters to its objective: the better the objective, the stronger the line. */
export function ParallelPlot({ jobs, parameters, label, chosen, onChosen, goal }: ParallelPlotProps) {
  const axes = useMemo(
    () => [
      ...parameters.map((path) =>
        axisOf(
          path,
          jobs.map(({ values }) => values[path]),
        ),
      ),
      axisOf(
        label,
        jobs.map(({ objective }) => objective ?? undefined),
      ),
    ],
    [jobs, parameters, label],
  );
  const data = useMemo(() => dataOf(jobs, parameters, axes), [jobs, parameters, axes]);
  const options = useCallback(
    (palette: Palette): PlotOptions => {
      const names = axes.map(({ path }) => (path === label ? label : fieldName(path, parameters)));
      return {
        padding: [MARGIN.top, 56, MARGIN.bottom, 56],
        legend: { show: false },
        scales: { x: { time: false, range: [0, Math.max(1, axes.length - 1)] }, y: { range: [0, 1] } },
        axes: [{ show: false }, { show: false }],
        cursor: { x: false, y: false, drag: { setScale: false }, focus: { prox: 24 }, points: { show: false } },
        focus: { alpha: 1 },
        series: [{}, ...lookOf(jobs, chosen, goal, palette)],
        hooks: {
          draw: [(plot) => drawAxes(plot, axes, names, palette)],
          setSeries: [
            (_, index) => {
              const job = index === null ? undefined : jobs[index - 1];
              if (job && job.id !== chosen) onChosen(job.id);
            },
          ],
        },
      };
    },
    [axes, jobs, parameters, label, chosen, onChosen, goal],
  );
  const text = `Parallel coordinates of ${jobs.length} runs: ${axes.map(({ path }) => path).join(", ")}. The table has the same values.`;
  return <Plot label={text} data={data} options={options} />;
}

function dataOf(jobs: readonly GroupJob[], parameters: readonly string[], axes: readonly Axis[]): AlignedData {
  const lines = jobs.map((job) =>
    axes.map((axis, index) => {
      const path = parameters[index];
      return axis.place(path === undefined ? (job.objective ?? undefined) : job.values[path]);
    }),
  );
  return [axes.map((_, index) => index), ...lines] as AlignedData;
}

/** Runs without an objective are dashed. */
function lookOf(
  jobs: readonly GroupJob[],
  chosen: string | null,
  goal: ParallelPlotProps["goal"],
  palette: Palette,
): uPlot.Series[] {
  const found = jobs.flatMap(({ objective }) => objective ?? []);
  const [low, high] = [Math.min(...found), Math.max(...found)];
  return jobs.map(({ id, objective }) => {
    const share = objective === null || low === high ? 0.5 : (objective - low) / (high - low);
    const quality = goal === "maximize" ? share : 1 - share;
    const colour = objective === null ? palette.text : quality >= 0.5 ? palette.lines[0] : palette.lines[1];
    const strength = objective === null ? 0.35 : 0.25 + 0.75 * Math.abs(quality - 0.5) * 2;
    const isChosen = id === chosen;
    return {
      stroke: isChosen ? palette.ink : faint(colour ?? palette.ink, strength),
      width: isChosen ? 3 : 1.5,
      dash: objective === null ? [4, 4] : [],
      spanGaps: true,
      points: { show: isChosen, size: 7, fill: palette.ink },
    };
  });
}

/** An upright line for each axis, with its name above it and its ticks beside it. */
function drawAxes(plot: uPlot, axes: readonly Axis[], names: readonly string[], palette: Palette): void {
  const { ctx, bbox } = plot;
  const ratio = window.devicePixelRatio || 1;
  const room = bbox.width / Math.max(1, axes.length - 1);
  ctx.save();
  ctx.setLineDash([]); // that of the last line
  ctx.font = `${11 * ratio}px ${getComputedStyle(plot.root).fontFamily}`;
  for (const [index, axis] of axes.entries()) {
    const x = plot.valToPos(index, "x", true);
    ctx.strokeStyle = palette.text;
    ctx.lineWidth = ratio;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const [isFirst, isLast] = [index === 0, index === axes.length - 1];
    ctx.fillStyle = palette.ink;
    ctx.textAlign = isFirst ? "left" : isLast ? "right" : "center";
    const name = axis.isLog ? `${names[index] ?? ""} (log)` : (names[index] ?? "");
    const edge = isFirst ? -50 * ratio : isLast ? 50 * ratio : 0;
    ctx.fillText(
      cut(ctx, name, room - 8 * ratio + Math.abs(edge) / 2),
      x + edge,
      bbox.top - (index % 2 ? 24 : 10) * ratio,
    );
    ctx.textAlign = isLast ? "left" : "right";
    for (const { at, text } of axis.ticks) {
      const y = plot.valToPos(at, "y", true);
      const shown = cut(ctx, text, isFirst || isLast ? 50 * ratio : room * 0.6);
      const { width } = ctx.measureText(shown);
      const from = isLast ? x + 6 * ratio : x - 6 * ratio;
      ctx.fillStyle = faint(palette.surface, 0.8);
      ctx.fillRect(isLast ? from : from - width, y - 7 * ratio, width, 14 * ratio);
      ctx.fillStyle = palette.ink;
      ctx.fillText(shown, from, y + 4 * ratio);
    }
  }
  ctx.restore();
}

/** The text, shortened to a width in pixels. */
function cut(ctx: CanvasRenderingContext2D, text: string, width: number): string {
  if (ctx.measureText(text).width <= width) return text;
  let end = text.length - 1;
  while (end > 1 && ctx.measureText(`${text.slice(0, end)}…`).width > width) end--;
  return `${text.slice(0, end)}…`;
}
