import { useCallback, useMemo } from "react";
import type { AlignedData } from "uplot";
import type uPlot from "uplot";
import { faint, type Palette } from "@/charts/palette";
import type { GroupJob } from "@/features/groups/api";
import { axisOf } from "@/features/groups/model/axes";
import type { ValueRow } from "@/features/groups/model/by-parameter";
import { Plot, type PlotOptions } from "@/features/groups/ui/plot";
import { number } from "@/lib/format";

interface ParameterPlotProps {
  jobs: readonly GroupJob[];
  path: string;
  label: string;
  rows: readonly ValueRow[];
  chosen: string | null;
  onChosen: (id: string) => void;
}

/** The objective of each run over a parameter, with the mean and its interval at each value of several runs. */
export function ParameterPlot({ jobs, path, label, rows, chosen, onChosen }: ParameterPlotProps) {
  const axis = useMemo(
    () =>
      axisOf(
        path,
        jobs.map(({ values }) => values[path]),
      ),
    [jobs, path],
  );
  const runs = useMemo(
    () =>
      jobs
        .flatMap((job) => {
          const x = axis.place(job.values[path]);
          return x === null || job.objective === null ? [] : [{ id: job.id, x, y: job.objective }];
        })
        .sort((a, b) => a.x - b.x),
    [jobs, axis, path],
  );
  const means = useMemo(
    () =>
      rows.flatMap(({ value, mean, half }) => {
        const x = axis.place(value);
        return x === null || mean === null || half === null ? [] : [{ x, mean, half }];
      }),
    [rows, axis],
  );
  const data = useMemo<AlignedData>(() => [runs.map(({ x }) => x), runs.map(({ y }) => y)], [runs]);
  const options = useCallback(
    (palette: Palette): PlotOptions => ({
      padding: [12, 24, 0, 0],
      legend: { show: false },
      scales: { x: { time: false, range: [-0.04, 1.04] }, y: { range: rangeOf(runs, means) } },
      axes: [
        {
          stroke: palette.text,
          grid: { stroke: palette.grid, width: 1 },
          ticks: { show: false },
          size: 28,
          splits: () => axis.ticks.map(({ at }) => at),
          values: () => axis.ticks.map(({ text }) => text),
        },
        {
          stroke: palette.text,
          grid: { stroke: palette.grid, width: 1 },
          ticks: { show: false },
          size: 56,
          values: (_, splits) => splits.map((value) => number(value)),
        },
      ],
      cursor: { x: false, y: false, drag: { setScale: false }, points: { size: 11, stroke: palette.ink, width: 2 } },
      series: [{}, { paths: () => null, stroke: palette.lines[0] ?? palette.ink, points: pointsOf(palette) }],
      hooks: {
        draw: [(plot) => drawMeans(plot, means, palette), (plot) => drawChosen(plot, runs, chosen, palette)],
        setCursor: [
          ({ cursor: { idx } }) => {
            const run = typeof idx === "number" ? runs[idx] : undefined;
            if (run && run.id !== chosen) onChosen(run.id);
          },
        ],
      },
    }),
    [axis, runs, means, chosen, onChosen],
  );
  const text = `${label} over ${path}, ${runs.length} runs. The table beside it has the means.`;
  return <Plot label={text} data={data} options={options} />;
}

type Point = { readonly id: string; readonly x: number; readonly y: number };
type Mean = { readonly x: number; readonly mean: number; readonly half: number };

const pointsOf = (palette: Palette): uPlot.Series.Points => ({
  show: true,
  size: 8,
  width: 1.5,
  fill: faint(palette.lines[0] ?? palette.ink, 0.25),
});

/** All runs, and of the intervals as much as does not squeeze them. */
function rangeOf(runs: readonly Point[], means: readonly Mean[]): uPlot.Range.MinMax {
  const values = runs.map(({ y }) => y);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const spread = high - low || Math.abs(high) || 1;
  const ends = means.flatMap(({ mean, half }) => [mean - half, mean + half]);
  return [
    Math.max(low - spread, Math.min(low, ...ends)) - spread * 0.08,
    Math.min(high + spread, Math.max(high, ...ends)) + spread * 0.08,
  ];
}

/** A bar from end to end of each interval, with a dash at the mean. */
function drawMeans(plot: uPlot, means: readonly Mean[], palette: Palette): void {
  const { ctx } = plot;
  const ratio = window.devicePixelRatio || 1;
  ctx.save();
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
  ctx.clip();
  ctx.strokeStyle = palette.lines[1] ?? palette.ink;
  ctx.lineWidth = 2 * ratio;
  for (const { x, mean, half } of means) {
    const at = plot.valToPos(x, "x", true);
    const [low, middle, high] = [mean - half, mean, mean + half].map((value) => plot.valToPos(value, "y", true));
    ctx.beginPath();
    for (const [y, width] of [
      [low, 5],
      [middle, 9],
      [high, 5],
    ] as const) {
      // prettier-ignore
      ctx.moveTo(at - width * ratio, y ?? 0);
      ctx.lineTo(at + width * ratio, y ?? 0);
    }
    ctx.moveTo(at, low ?? 0);
    ctx.lineTo(at, high ?? 0);
    ctx.stroke();
  }
  ctx.restore();
}

function drawChosen(plot: uPlot, runs: readonly Point[], chosen: string | null, palette: Palette): void {
  const run = runs.find(({ id }) => id === chosen);
  if (!run) return;
  const { ctx } = plot;
  const ratio = window.devicePixelRatio || 1;
  ctx.save();
  ctx.strokeStyle = palette.ink;
  ctx.lineWidth = 2 * ratio;
  ctx.beginPath();
  ctx.arc(plot.valToPos(run.x, "x", true), plot.valToPos(run.y, "y", true), 7 * ratio, 0, 2 * Math.PI);
  ctx.stroke();
  ctx.restore();
}
