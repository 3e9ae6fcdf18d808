import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Place } from "@/features/completions/model/place";
import { jobsKey } from "@/features/jobs/api";
import { answer, api } from "@/lib/api/client";
import type { Stage } from "@/lib/states";

const PAGE = 50;

/** The completions of one stage of a job. */
export interface OfStage {
  readonly jobId: string;
  /** One seed of a job with several; null for a job with one. */
  readonly seed: number | null;
  readonly stage: Stage;
}

/** The completions of one step, with their token tables. */
export const samplesQuery = ({ jobId: id, seed, stage }: OfStage, step: number) =>
  queryOptions({
    queryKey: [...jobsKey, id, "samples", seed, stage, step],
    queryFn: async () => {
      const params = { path: { job_id: id }, query: { seed, stage, step } };
      return (await answer(api.GET("/v1/jobs/{job_id}/samples", { params }))).data;
    },
    staleTime: 60_000,
  });

/** The steps of each stage that have completions, ascending. They are fetched again while the run goes on. */
export const stepsQuery = (id: string, seed: number | null, isRunning: boolean) =>
  queryOptions({
    // The last steps of a run come after its last fetch as a running one, so an ended run is fetched once more.
    queryKey: [...jobsKey, id, "samples", "steps", seed, isRunning],
    queryFn: async () => {
      const params = { path: { job_id: id }, query: { seed } };
      const { data } = await answer(api.GET("/v1/jobs/{job_id}/samples/steps", { params }));
      const found: Partial<Record<string, number[]>> = {};
      for (const { stage, step } of data) (found[stage] ??= []).push(step);
      for (const steps of Object.values(found)) steps?.sort((a, b) => a - b);
      return found;
    },
    staleTime: isRunning ? 5000 : Infinity,
    refetchInterval: isRunning ? 10_000 : false,
  });

type Search = Pick<Place, "search" | "by" | "min" | "max" | "order" | "ended" | "source">;

const ENDED = { any: null, eos: true, cut: false } as const;
const HELD_OUT = { any: null, held_out: true, batch: false } as const;

/** The completions of all steps that pass the filters, a page at a time. */
export const searchQuery = (
  { jobId: id, seed, stage }: OfStage,
  { search, by, min, max, order, ended, source }: Search,
) =>
  infiniteQueryOptions({
    queryKey: [...jobsKey, id, "samples", "search", seed, stage, search, by, min, max, order, ended, source],
    queryFn: ({ pageParam, signal }) => {
      const query = { seed, stage, q: search, by, min, max, order, finished: ENDED[ended], held_out: HELD_OUT[source] };
      const params = { path: { job_id: id }, query: { ...query, skip: pageParam, limit: PAGE } };
      return answer(api.GET("/v1/jobs/{job_id}/samples/search", { params, signal }));
    },
    initialPageParam: 0,
    getNextPageParam: (page, pages) => (page.has_more ? pages.length * PAGE : null),
    staleTime: 30_000,
  });

/** The completions of the prompt of one completion, over the run. */
export const promptQuery = ({ jobId: id, seed, stage }: OfStage, of: string) =>
  infiniteQueryOptions({
    queryKey: [...jobsKey, id, "samples", "prompt", seed, stage, of],
    queryFn: ({ pageParam, signal }) => {
      const query = { seed, stage, same_prompt: of, order: "oldest", skip: pageParam, limit: PAGE } as const;
      return answer(api.GET("/v1/jobs/{job_id}/samples/search", { params: { path: { job_id: id }, query }, signal }));
    },
    initialPageParam: 0,
    getNextPageParam: (page, pages) => (page.has_more ? pages.length * PAGE : null),
    staleTime: 30_000,
  });

/** The last completion of the same prompt before a step; null for the first one. */
export const previousQuery = ({ jobId: id, seed, stage }: OfStage, of: string, step: number) =>
  queryOptions({
    queryKey: [...jobsKey, id, "samples", "previous", seed, stage, of, step],
    queryFn: async () => {
      if (step === 0) return null;
      const query = { seed, stage, same_prompt: of, to: step - 1, order: "newest", limit: 1 } as const;
      const params = { path: { job_id: id }, query };
      return (await answer(api.GET("/v1/jobs/{job_id}/samples/search", { params }))).data[0] ?? null;
    },
    staleTime: 60_000,
  });
