import { type QueryClient, queryOptions } from "@tanstack/react-query";
import { jobsKey } from "@/features/jobs/api";
import { placeKey } from "@/features/run/model/state";
import { answer, api } from "@/lib/api/client";
import type { HistoryPart, JobEvent } from "@/lib/api/types";
import type { Stage } from "@/lib/states";

const EVENTS_PAGE = 1000;
/** Three times as many as a wide chart has pixels, since a zoom fetches three times its width. */
const DETAIL_POINTS = 4000;

/** All series, as they were when they were fetched. Take them with `takeMetrics`, so that they are used once. */
export const metricsQuery = (id: string) =>
  queryOptions({
    queryKey: [...jobsKey, id, "metrics", "all"],
    queryFn: () => answer(api.GET("/v1/jobs/{job_id}/metrics", { params: { path: { job_id: id } } })),
    staleTime: Infinity,
    gcTime: 10_000,
  });

/** All series: those that were fetched before the page was there, or else new ones. */
export async function takeMetrics(id: string, client: QueryClient) {
  const { queryKey } = metricsQuery(id);
  try {
    return await client.query(metricsQuery(id));
  } finally {
    client.removeQueries({ queryKey, exact: true });
  }
}

interface Part {
  readonly stage: Stage;
  /** Null for all seeds. */
  readonly seed: number | null;
  readonly names: readonly string[];
  readonly from: number;
  readonly to: number;
}

/** Some series of one stage between two steps, in as much detail as a chart can show. */
export const metricsBetween = (id: string, { stage, seed, names, from, to }: Part) =>
  queryOptions({
    queryKey: [...jobsKey, id, "metrics", stage, seed, names, from, to],
    queryFn: () => {
      const query = { stage, seed, from, to, names: names.join(","), max_points: DETAIL_POINTS };
      return answer(api.GET("/v1/jobs/{job_id}/metrics", { params: { path: { job_id: id }, query } }));
    },
    staleTime: 10_000,
    // Each part that a user pans to is a query of its own.
    gcTime: 20_000,
  });

/** The ancestors of a job, its history and the jobs made from it. */
export const lineageQuery = (id: string) =>
  queryOptions({
    queryKey: [...jobsKey, id, "lineage"],
    queryFn: () => answer(api.GET("/v1/jobs/{job_id}/lineage", { params: { path: { job_id: id } } })),
    staleTime: 30_000,
  });

/** The series of an ancestor's stage up to the step from which a branch goes on, or at most up to `until`. */
export const historyQuery = ({ job, stage, seed, to: end }: HistoryPart, until: number | null = null) =>
  queryOptions({
    queryKey: [...jobsKey, job, "metrics", "history", stage, seed, end, until],
    queryFn: () => {
      const to = until === null ? end : Math.min(until, end ?? until);
      const query = { stage: stage as Stage, seed, to, ...(until !== null && { max_points: until + 1 }) };
      return answer(api.GET("/v1/jobs/{job_id}/metrics", { params: { path: { job_id: job }, query } }));
    },
    staleTime: Infinity,
    gcTime: 60_000,
  });

/** The events of the starts of a job's stages. */
export const startsQuery = (id: string, isRunning = false) =>
  queryOptions({
    queryKey: [...jobsKey, id, "starts"],
    queryFn: () => fetchEvents(id, 0, ["stage_started"]),
    staleTime: isRunning ? 5000 : Infinity,
    gcTime: 60_000,
  });

/** Every event after `seq`, page by page. */
export async function fetchEvents(id: string, after: number, types: readonly string[] = []): Promise<JobEvent[]> {
  const events: JobEvent[] = [];
  for (let seq = after; ;) {
    const query = { after: seq, limit: EVENTS_PAGE, types: types.join(",") };
    const page = await answer(api.GET("/v1/jobs/{job_id}/events", { params: { path: { job_id: id }, query } }));
    events.push(...page.data);
    const last = page.data.at(-1);
    if (!page.has_more || !last) return events;
    seq = last.seq;
  }
}

/** The steps that have completions, by `placeKey`. */
export async function fetchSampleSteps(id: string): Promise<Record<string, number[]>> {
  const found: Record<string, number[]> = {};
  const list = await answer(api.GET("/v1/jobs/{job_id}/samples/steps", { params: { path: { job_id: id } } }));
  for (const { seed, stage, step } of list.data) (found[placeKey(seed, stage)] ??= []).push(step);
  for (const steps of Object.values(found)) steps.sort((a, b) => a - b);
  return found;
}

/** When the event with this number happened; null if there is none. */
export async function fetchEventTime(id: string, seq: number): Promise<string | null> {
  const params = { path: { job_id: id }, query: { after: Math.max(0, seq - 1), limit: 1 } };
  const page = await answer(api.GET("/v1/jobs/{job_id}/events", { params }));
  return page.data[0]?.created_at ?? null;
}
