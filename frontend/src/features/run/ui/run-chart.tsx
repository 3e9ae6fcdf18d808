import { useMemo, useState } from "react";
import type { Range } from "@/charts/axis";
import { Chart, type ChartProps } from "@/charts/chart";
import { dashedNumber } from "@/charts/palette";
import { emptySeries, type Series } from "@/charts/series";
import {
  type CardParts,
  ChartCard,
  type ChartSpec,
  type DescribedChart,
  type Meaning,
} from "@/features/metric-charts/ui";
import { type Curves, linesOf, linesOfHistory, type SeedRun } from "@/features/run/model/seeds";
import { useDetail } from "@/features/run/model/use-detail";
import type { History } from "@/features/run/model/use-history";
import type { Stage } from "@/lib/states";

/** The data of a run that the charts of a stage show. */
interface RunData {
  jobId: string;
  stage: Stage;
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
  /** Whether the code of the axis is loaded. */
  isReady: boolean;
  /** Whether the axis is logarithmic. */
  isLog: boolean;
}

interface RunChartProps {
  spec: ChartSpec;
  data: RunData;
}

/** One chart of a stage. */
export function RunChart({ spec, data, parts }: RunChartProps & { parts: CardParts }) {
  const [visible, setVisible] = useState(false);
  return <ChartCard {...useChart({ ...data, spec }, visible)} {...parts} onVisible={setVisible} />;
}

/** The same chart in full screen. */
export function EnlargedRunChart({ spec, data, height }: RunChartProps & { height: number }) {
  const { chart } = useChart({ ...data, spec }, true);
  return <Chart {...chart} height={height} />;
}

/** The lines of a chart, and the descriptions of its metrics. A visible chart fetches finer points of a zoomed part. */
function useChart(data: RunData & { spec: ChartSpec }, visible: boolean): DescribedChart {
  const { jobId, stage, spec, series, meanings, steps, isLog } = data;
  const names = useMemo(() => spec.lines.map((line) => line.name), [spec]);
  const runs = useDetail({ jobId, stage, names, runs: data.runs, steps, visible, isLog });
  const chart = drawn(spec, { ...data, runs });
  const notes = names.flatMap((name) => (series[name] ? (meanings.get(name) ?? []) : []));
  return { chart, notes };
}

/** The chart with the lines that the run has measured. */
function drawn(
  { title, lines: wanted, own }: ChartSpec,
  {
    series,
    runs,
    curves,
    meanings,
    history,
    isReady,
  }: Pick<RunData, "series" | "runs" | "curves" | "meanings" | "history" | "isReady">,
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
    note: own && missing.length && measured.length ? `Not measured in this run: ${missing.join(", ")}.` : undefined,
    nothing: isReady ? nothing(missing, measured.length > 0) : "Loading…",
  };
}

/** Why a chart has no lines. */
const nothing = (missing: readonly string[], isMeasured: boolean): string =>
  isMeasured
    ? "This run has not measured what the horizontal axis shows. Choose another axis."
    : `This run has not measured ${missing.join(", ")}.`;
