import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Range } from "@/charts/axis";
import { HEAD_STEPS, withFiner } from "@/charts/finer";
import { continued, emptySeries, type Series } from "@/charts/series";
import { metricsBetween } from "@/features/run/api";
import type { SeedRun } from "@/features/run/model/seeds";
import { byStage, placeKey } from "@/features/run/model/state";
import type { Stage } from "@/lib/states";

interface DetailOptions {
  jobId: string;
  stage: Stage;
  names: readonly string[];
  runs: readonly SeedRun[];
  /** The shown steps; null for all. */
  steps: Range | null;
  visible: boolean;
  /** Whether the first steps take much of the axis. */
  isLog: boolean;
}

/**
 * Finer points of the shown steps. In a long run points come in buckets. A zoom fetches smaller buckets, or the points
 * themselves, of the charts on the screen. It fetches as much again on each side, so that there is something to pan to.
 * Steps that arrive later follow. On a logarithmic axis the first steps are fetched one by one. Returns the runs with these points.
 */
export function useDetail({ jobId, stage, names, runs, steps, visible, isLog }: DetailOptions): readonly SeedRun[] {
  const isBucketed = runs.some(({ series }) => names.some((name) => series[name]?.min));
  const seed = runs.length === 1 ? (runs[0]?.seed ?? null) : null;
  const width = steps ? steps.to - steps.from : 0;
  const from = Math.max(0, Math.floor((steps?.from ?? 0) - width));
  const to = Math.max(from, Math.ceil((steps?.to ?? 0) + width));
  const { data } = useQuery({
    ...metricsBetween(jobId, { stage, seed, names, from, to }),
    enabled: visible && steps !== null && isBucketed,
    placeholderData: (before) => before,
  });
  const head = useQuery({
    ...metricsBetween(jobId, { stage, seed, names, from: 0, to: HEAD_STEPS }),
    enabled: visible && isLog && isBucketed,
  });
  const fetched = useMemo(() => (data ? byStage(data.series) : null), [data]);
  const first = useMemo(() => (head.data ? byStage(head.data.series) : null), [head.data]);
  const isShown = steps !== null && isBucketed;
  return useMemo(() => {
    const finer = isShown ? fetched : null;
    const heads = isLog ? first : null;
    if (!finer && !heads) return runs;
    return runs.map((run) => {
      const key = placeKey(run.seed, stage);
      // A series that ends before the last wanted step was fetched with all its steps: newer ones follow.
      const upToNow = (name: string, one: Series) =>
        (one.steps.at(-1) ?? 0) < to ? continued(one, run.series[name] ?? emptySeries) : one;
      const series = { ...run.series };
      for (const [name, one] of Object.entries(finer?.[key] ?? {})) series[name] = upToNow(name, one);
      for (const [name, one] of Object.entries(heads?.[key] ?? {})) series[name] = withFiner(one, series[name] ?? one);
      return { ...run, series };
    });
  }, [isShown, isLog, fetched, first, runs, stage, to]);
}
