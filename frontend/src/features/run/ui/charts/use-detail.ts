import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { StepRange } from "@/charts/group";
import type { Series } from "@/charts/series";
import { metricsBetween } from "@/features/run/api";
import { byStage } from "@/features/run/model/snapshot";
import type { Stage } from "@/lib/stages";

type ByName = Readonly<Record<string, Series>>;

/** In a long run points come in buckets; a zoom into it fetches the finer ones, or the points themselves. */
export function useDetail(jobId: string, stage: Stage, series: ByName, zoom: StepRange | null): ByName {
  const isBucketed = Object.values(series).some((one) => one.min !== null);
  const from = Math.max(0, Math.floor(zoom?.from ?? 0));
  const to = Math.max(from, Math.ceil(zoom?.to ?? 0));
  const detail = useQuery({ ...metricsBetween(jobId, stage, from, to), enabled: zoom !== null && isBucketed });
  return useMemo(() => {
    if (!zoom || !isBucketed || !detail.data) return series;
    return { ...series, ...byStage(detail.data.series)[stage] };
  }, [series, stage, zoom, isBucketed, detail.data]);
}
