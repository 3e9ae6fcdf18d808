import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Range } from "@/charts/axis";
import { continued, emptySeries, type Series } from "@/charts/series";
import { metricsBetween } from "@/features/run/api";
import { byStage } from "@/features/run/model/state";
import type { Stage } from "@/lib/states";

interface DetailOptions {
  jobId: string;
  stage: Stage;
  names: readonly string[];
  series: Readonly<Record<string, Series>>;
  /** The shown steps; null for all. */
  steps: Range | null;
  visible: boolean;
}

const NONE: Readonly<Record<string, Series>> = {};

/**
 * Finer points of the shown steps. In a long run points come in buckets. A zoom fetches smaller buckets, or the points
 * themselves, of the charts on the screen. It fetches as much again on each side, so that there is something to pan to.
 * Steps that arrive later follow.
 */
export function useDetail({ jobId, stage, names, series, steps, visible }: DetailOptions): typeof NONE {
  const isBucketed = names.some((name) => series[name]?.min);
  const width = steps ? steps.to - steps.from : 0;
  const from = Math.max(0, Math.floor((steps?.from ?? 0) - width));
  const to = Math.max(from, Math.ceil((steps?.to ?? 0) + width));
  const { data } = useQuery({
    ...metricsBetween(jobId, stage, names, from, to),
    enabled: visible && steps !== null && isBucketed,
    placeholderData: (before) => before,
  });
  const fetched = useMemo(() => (data && byStage(data.series)[stage]) ?? NONE, [stage, data]);
  const isShown = steps !== null && isBucketed;
  return useMemo(() => {
    if (!isShown) return NONE;
    // A series that ends before the last wanted step was fetched with all its steps: newer ones follow.
    const upToNow = (name: string, one: Series) =>
      (one.steps.at(-1) ?? 0) < to ? continued(one, series[name] ?? emptySeries) : one;
    return Object.fromEntries(Object.entries(fetched).map(([name, one]) => [name, upToNow(name, one)]));
  }, [isShown, fetched, series, to]);
}
