import { type DragEvent, useMemo, useState } from "react";
import type { Range } from "@/charts/axis";
import { Chart, type ChartProps } from "@/charts/chart";
import { dashedNumber } from "@/charts/palette";
import { emptySeries, type Series } from "@/charts/series";
import type { ChartSpec } from "@/features/run/model/chart-specs";
import type { Meaning } from "@/features/run/model/meanings";
import { type Curves, linesOf, linesOfHistory, type SeedRun } from "@/features/run/model/seeds";
import { useDetail } from "@/features/run/model/use-detail";
import { ChartMenu, type ChartPlace } from "@/features/run/ui/chart-menu";
import type { History } from "@/features/run/model/use-history";
import { MetricNotes } from "@/features/run/ui/metric-notes";
import type { Stage } from "@/lib/states";

/** A chart of a stage with the data of the run. */
export interface ChartData {
  jobId: string;
  stage: Stage;
  spec: ChartSpec;
  /** Every measured metric, with the series of a seed that has it. */
  series: Readonly<Record<string, Series>>;
  /** The series of each seed, or of the job. */
  runs: readonly SeedRun[];
  /** The curves of the ancestors of a branch. */
  history: readonly History[];
  /** Which lines of several seeds are drawn. */
  curves: Curves;
  meanings: ReadonlyMap<string, Meaning>;
  /** The shown steps; null for all. */
  steps: Range | null;
}

interface ChartCardProps extends ChartData {
  place?: ChartPlace | null;
  onEnlarge: () => void;
  onDragStart?: (event: DragEvent<HTMLElement>) => void;
}

/** One chart of a stage. */
export function ChartCard({ place = null, onEnlarge, onDragStart, ...data }: ChartCardProps) {
  const [visible, setVisible] = useState(false);
  const { chart, notes } = useChart(data, visible);
  const { title } = chart;
  return (
    <Chart
      {...chart}
      about={<MetricNotes title={title} notes={notes} />}
      actions={(plot) => <ChartMenu title={title} plot={plot} place={place} onEnlarge={onEnlarge} />}
      onVisible={setVisible}
      onEnlarge={onEnlarge}
      {...(onDragStart && { onDragStart })}
    />
  );
}

/** The lines of a chart, and the descriptions of its metrics. A visible chart fetches finer points of a zoomed part. */
export function useChart(data: ChartData, visible: boolean) {
  const { jobId, stage, spec, series, meanings, steps } = data;
  const names = useMemo(() => spec.lines.map((line) => line.name), [spec]);
  const runs = useDetail({ jobId, stage, names, runs: data.runs, steps, visible });
  const chart = drawn(spec, { ...data, runs });
  const notes = names.flatMap((name) => (series[name] ? (meanings.get(name) ?? []) : []));
  return { chart, notes };
}

/** The chart with the lines that the run has measured. */
function drawn(
  { title, lines: wanted, own }: ChartSpec,
  { series, runs, curves, meanings, history }: Pick<ChartData, "series" | "runs" | "curves" | "meanings" | "history">,
): ChartProps {
  const measured = wanted.filter((line) => series[line.name]);
  const missing = wanted.filter((line) => !measured.includes(line)).map((line) => line.short);
  // A second axis only beside a first one.
  const hasLeft = measured.some((line) => !line.right);
  const lines = measured.flatMap(({ name, short, right }, index) => {
    const line = {
      key: name,
      label: short,
      series: emptySeries,
      colour: own ? dashedNumber(own.metrics.indexOf(name)) : index,
      right: right && hasLeft,
      unit: meanings.get(name)?.unit ?? "",
    };
    const before = linesOfHistory(history, name, line);
    const present = linesOf(runs, name, before.length ? { ...line, label: short || "this run" } : line, curves);
    // A stage that was inherited as a whole has no line of its own.
    return before.length ? [...present.filter((one) => one.series.steps.length), ...before] : present;
  });
  const onLeft = lines.filter((line) => !line.right);
  const [unit = "", ...others] = new Set(onLeft.map((line) => line.unit));
  const healthy = measured.map((line) => meanings.get(line.name)?.healthy).find(Boolean) ?? null;
  return {
    title,
    unit: others.length ? "" : unit,
    lines,
    // The range of one metric means nothing for the others that a user has put beside it.
    healthy: own && measured.length > 1 ? null : healthy,
    scale: own?.log ? "log" : undefined,
    note: own && missing.length ? `Not measured in this run: ${missing.join(", ")}.` : undefined,
  };
}
