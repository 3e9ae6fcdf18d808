import { queryOptions, useQuery } from "@tanstack/react-query";
import type { Range } from "@/charts/axis";
import { partAround } from "@/charts/finer";
import { type Series, toSeries } from "@/charts/series";
import { jobBatchQuery, jobsKey } from "@/features/jobs/api";
import { answer, api } from "@/lib/api/client";
import type { Job, MetricInfo } from "@/lib/api/types";
import { EVALUATION_METRICS } from "@/lib/evaluation-metrics";
import { bestSeed, cameToEnd } from "@/lib/seeds";
import { hasEnded, type Stage } from "@/lib/states";

type Metric = Pick<MetricInfo, "stage" | "name" | "label" | "unit" | "chart">;

/** Points of a line, each with the extremes around it: a chart of this page is some hundred pixels wide. */
const POINTS = 250;

/** The metrics with a chart of their own, in the order of the charts. */
export const chartedMetrics = (reference: readonly Metric[], stage: Stage): Metric[] =>
  reference
    .filter((one) => one.stage === stage && one.chart && !one.name.includes("<"))
    .sort((a, b) => (a.chart?.order ?? 0) - (b.chart?.order ?? 0));

/** The names of all that the page shows of a stage, so that its curves and its frontier are one request for each run. */
export function curveNames(reference: readonly Metric[], stage: Stage): string[] {
  const names = chartedMetrics(reference, stage).map(({ name }) => name);
  return stage === "ppo" ? [...new Set([...names, ...EVALUATION_METRICS])] : names;
}

/** A metric of one seed of a run; `seed` is null in a run of one seed. */
export interface Curve {
  readonly seed: number | null;
  readonly series: Series;
}

/** The points of a part of the steps. */
export interface StepRange extends Range {
  readonly points: number;
}

/** All steps. */
const WHOLE = { points: POINTS };

/** Some steps that are shown: at least as many points of them as a whole line has, since a part is up to four times as long. */
export const shownPart = (steps: Range): StepRange => ({ ...partAround(steps), points: 4 * POINTS });

/**
 * Metrics of one stage of a run, by name, with a curve for each seed, in one request. They are fetched again while the run
 * goes on.
 */
export const curvesQuery = (
  id: string,
  stage: Stage,
  names: readonly string[],
  isRunning: boolean,
  { points, ...range }: Partial<Range> & Pick<StepRange, "points"> = WHOLE,
) =>
  queryOptions({
    queryKey: [...jobsKey, id, "curves", stage, names, range.from, range.to],
    queryFn: async () => {
      const query = { stage, names: names.join(","), max_points: points, ...range };
      const found = await answer(api.GET("/v1/jobs/{job_id}/metrics", { params: { path: { job_id: id }, query } }));
      const curves = new Map<string, Curve[]>();
      for (const one of found.series)
        curves.set(one.name, [...(curves.get(one.name) ?? []), { seed: one.seed, series: toSeries(one) }]);
      return curves;
    },
    staleTime: isRunning ? 5000 : Infinity,
    refetchInterval: isRunning ? 10_000 : false,
  });

/** The names of all metrics that a run has measured in a stage. */
export const measuredQuery = (id: string, stage: Stage, isRunning: boolean) =>
  queryOptions({
    queryKey: [...jobsKey, id, "measured", stage],
    queryFn: async () => {
      const params = { path: { job_id: id }, query: { stage, max_points: 1 } };
      const found = await answer(api.GET("/v1/jobs/{job_id}/metrics", { params }));
      return [...new Set(found.series.map(({ name }) => name))];
    },
    staleTime: isRunning ? 5000 : Infinity,
  });

/** The curves that stand for a run: of several seeds, those that came to an end; before one has, all. */
export function curvesOf(job: Pick<Job, "seeds">, curves: readonly Curve[] | undefined): readonly Curve[] {
  const ended = new Set(job.seeds.filter(cameToEnd).map(({ seed }) => seed));
  const found = curves?.filter(({ seed }) => seed === null || ended.has(seed)) ?? [];
  return found.length ? found : (curves ?? []);
}

/** Completions of the final evaluation; of several seeds, of the best one. */
export const evaluationQuery = (job: Job) =>
  queryOptions({
    queryKey: [...jobsKey, job.id, "evaluation", bestSeed(job)],
    queryFn: async () => {
      const params = { path: { job_id: job.id }, query: { stage: "evaluation" as const, seed: bestSeed(job) } };
      return (await answer(api.GET("/v1/jobs/{job_id}/samples", { params }))).data;
    },
    staleTime: Infinity,
  });

/** While a run goes on. */
const POLL_MS = 10_000;

const NONE: readonly Job[] = [];

/**
 * The compared runs that exist, in the order of the ids, in one request. While a run is added or removed, the others stay.
 * `missing`: the ids of which there is no run.
 */
export function useComparedRuns(ids: readonly string[]) {
  const { data, error, isPending, refetch } = useQuery({
    ...jobBatchQuery(ids),
    placeholderData: (before) => before && { ...before, jobs: before.jobs.filter(({ id }) => ids.includes(id)) },
    refetchInterval: ({ state }) => (state.data?.jobs.every(({ status }) => hasEnded(status)) ? false : POLL_MS),
  });
  return {
    jobs: data?.jobs ?? NONE,
    missing: ids.filter((id) => data?.missing.includes(id)),
    error,
    isPending,
    retry: () => void refetch(),
  };
}
