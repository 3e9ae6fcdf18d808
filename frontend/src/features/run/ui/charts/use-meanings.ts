import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Healthy } from "@/charts/healthy-marks";
import { byName } from "@/features/run/model/meanings";
import { metricReferenceQuery } from "@/lib/api/platform";
import type { MetricInfo } from "@/lib/api/types";

export interface Meaning extends Omit<MetricInfo, "healthy"> {
  readonly healthy: Healthy | null;
}

/** The stage's metrics by name, as the trainer documents them. `names`: those that the run has, a line each. */
export function useMeanings(stage: string, names: string): ReadonlyMap<string, Meaning> {
  const { data } = useQuery(metricReferenceQuery);
  return useMemo(() => {
    const ofStage = (data ?? []).filter((metric) => metric.stage === stage);
    const metrics = ofStage.map(({ healthy, ...rest }) => ({ ...rest, healthy: bounds(healthy) }));
    return byName(metrics, names.split("\n"));
  }, [data, stage, names]);
}

const bounds = (healthy: readonly (number | null)[] | null): Healthy | null =>
  healthy && [healthy[0] ?? null, healthy[1] ?? null];
