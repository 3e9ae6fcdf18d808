import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { metricReferenceQuery } from "@/api/platform";
import type { MetricInfo } from "@/api/types";
import type { Healthy } from "@/features/run/charts/healthy-marks";

export interface Meaning extends Omit<MetricInfo, "healthy"> {
  readonly healthy: Healthy | null;
}

/** The stage's metrics by name, as the trainer documents them. */
export function useMeanings(stage: string): ReadonlyMap<string, Meaning> {
  const { data } = useQuery(metricReferenceQuery);
  return useMemo(() => {
    const ofStage = (data ?? []).filter((metric) => metric.stage === stage);
    return new Map(ofStage.map(({ healthy, ...rest }) => [rest.name, { ...rest, healthy: bounds(healthy) }]));
  }, [data, stage]);
}

const bounds = (healthy: readonly (number | null)[] | null): Healthy | null =>
  healthy && [healthy[0] ?? null, healthy[1] ?? null];
