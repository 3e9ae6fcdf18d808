import { useMemo } from "react";
import { Chart } from "@/charts/chart";
import type { Group } from "@/features/compare/model/differences";
import { linesOf } from "@/features/compare/model/lines";
import type { PlacedRun } from "@/features/compare/model/placed-runs";
import {
  type CardParts,
  ChartCard,
  type ChartSpec,
  type DescribedChart,
  type Meaning,
} from "@/features/metric-charts/ui";
import type { Job } from "@/lib/api/types";

/** The data that the charts of compared runs show. */
interface ComparedData {
  groups: readonly Group<Job>[];
  placed: readonly PlacedRun[];
  meanings: ReadonlyMap<string, Meaning>;
  /** Whether more curves are about to come. */
  isLoading: boolean;
}

interface CompareChartProps {
  spec: ChartSpec;
  data: ComparedData;
}

export const CompareChart = ({ spec, data, parts }: CompareChartProps & { parts: CardParts }) => (
  <ChartCard {...useChart(spec, data)} {...parts} />
);

/** The same chart in full screen. */
export const EnlargedCompareChart = ({ spec, data, height }: CompareChartProps & { height: number }) => (
  <Chart {...useChart(spec, data).chart} height={height} />
);

function useChart({ title, lines: wanted, own }: ChartSpec, data: ComparedData): DescribedChart {
  const { groups, placed, meanings, isLoading } = data;
  // A chart whose lines are the same objects is not drawn again.
  const { lines, note, nothing } = useMemo(() => {
    // Runs without any measurement of the stage are named above the charts.
    const runs = new Map(placed.map((run) => [run.job.id, run]));
    const present = groups.filter((group) => group.runs.some(({ id }) => runs.get(id)?.curves.size));
    const hasLeft = wanted.some((line) => !line.right);
    const metrics = wanted.map(({ name, right }) => {
      const { label = name, unit = "" } = meanings.get(name) ?? {};
      return { name, label, unit, right: right && hasLeft };
    });
    return linesOf(present, runs, metrics);
  }, [wanted, groups, placed, meanings]);
  const [unit = "", ...others] = new Set(lines.filter((line) => !line.right).map((line) => line.unit));
  return {
    chart: {
      title,
      level: 3,
      unit: others.length ? "" : unit,
      lines,
      scale: own?.log ? "log" : undefined,
      note: isLoading ? undefined : note,
      nothing: isLoading ? "Loading…" : nothing,
    },
    notes: wanted.flatMap(({ name }) => meanings.get(name) ?? []),
  };
}
