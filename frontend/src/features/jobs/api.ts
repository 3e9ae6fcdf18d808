import { jobQuery, jobsKey } from "@/lib/api/jobs";
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/lib/api/client";
import type { operations } from "@/lib/api/schema.gen";
import type { Checkpoint } from "@/lib/api/types";

export { jobQuery, jobsKey };

const PAGE = 25;

export type JobFilter = Pick<
  NonNullable<operations["list_jobs"]["parameters"]["query"]>,
  "text" | "status" | "health" | "tag" | "archived" | "where" | "fold" | "sort"
>;

/** The jobs that match, newest first unless sorted otherwise, a page at a time. `show`: columns of fields and metrics. */
export const filteredJobsQuery = (filter: JobFilter, show: readonly string[] = []) =>
  infiniteQueryOptions({
    queryKey: [...jobsKey, "list", filter, show],
    queryFn: ({ pageParam }) => {
      const query = { ...filter, ...(show.length > 0 && { show: [...show] }), limit: PAGE, after: pageParam };
      return answer(api.GET("/v1/jobs", { params: { query } }));
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => (page.has_more ? page.last_id : null),
  });

export const jobsQuery = filteredJobsQuery({});

/** Id of the job that was submitted last, archived ones apart; null without one. */
export const newestJobQuery = queryOptions({
  queryKey: [...jobsKey, "newest"],
  queryFn: async () => (await answer(api.GET("/v1/jobs", { params: { query: { limit: 1 } } }))).data[0]?.id ?? null,
});

/** The tags in use, most frequent first. */
export const tagsQuery = queryOptions({
  queryKey: [...jobsKey, "tags"],
  queryFn: async () => (await answer(api.GET("/v1/jobs/tags"))).data,
});

/** Most jobs of one request. */
const MOST_IN_BATCH = 100;

/** Several jobs in one request, in the order of the ids, and the ids of which there is no job. */
export const jobBatchQuery = (ids: readonly string[]) =>
  queryOptions({
    queryKey: [...jobsKey, "batch", ids],
    queryFn: async () => {
      const wanted = ids.slice(0, MOST_IN_BATCH).join(",");
      if (!wanted) return { jobs: [], missing: [] };
      const { data, missing } = await answer(api.GET("/v1/jobs/batch", { params: { query: { ids: wanted } } }));
      return { jobs: data, missing: [...missing, ...ids.slice(MOST_IN_BATCH)] };
    },
  });

export const checkpointsQuery = (id: string) =>
  queryOptions({
    queryKey: [...jobsKey, id, "checkpoints"],
    queryFn: async () => {
      const query = { limit: 100, order: "desc" } as const;
      const params = { path: { job_id: id }, query };
      return (await answer(api.GET("/v1/jobs/{job_id}/checkpoints", { params }))).data;
    },
  });

/** Whether a run can continue from it: it is not damaged, and it is a result or has the state of its run. */
export const canBranch = (checkpoint: Checkpoint): boolean => checkpoint.can_branch;

/** The checkpoints that can be used. A damaged one never is. */
export const goodOnes = (checkpoints: readonly Checkpoint[]): Checkpoint[] =>
  checkpoints.filter(({ damage }) => damage === null);

/** Plain links: the browser downloads them with the cookie. */
export const checkpointDownload = (id: string): string => `/v1/checkpoints/${id}/download`;
export const checkpointFile = (id: string, path: string): string =>
  `/v1/checkpoints/${id}/files/${path.split("/").map(encodeURIComponent).join("/")}`;
