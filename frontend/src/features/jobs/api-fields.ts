import { type InfiniteData, useQueries, useQuery, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import { type JobFilter, jobsKey } from "@/features/jobs/api";
import { suggestedColumns } from "@/features/jobs/model/fields";
import { answer, api } from "@/lib/api/client";
import type { JobSummary } from "@/lib/api/types";
import { metricReferenceQuery } from "@/lib/labels";
import { metricsOfSpec } from "@/lib/metric-options";

/** Has the server check the columns and conditions. Throws an ApiError with the nearest name. */
export const checkFields = (query: { show?: string[]; where?: string[] }) =>
  answer(api.GET("/v1/jobs", { params: { query: { ...query, limit: 1 } } }));

/** Most jobs of an opened group that the list shows. */
const MOST_MEMBERS = 100;

/** The matching jobs of the opened groups by the id of the group, undefined until they are known. Unsorted ones follow by number. */
export function useMembers(filter: JobFilter, show: readonly string[], groups: readonly string[]) {
  const found = useQueries({
    queries: groups.map((group) => ({
      queryKey: [...jobsKey, "list", "group", group, filter, show],
      queryFn: async () => {
        const own = { fold: false, group, show: [...show], limit: MOST_MEMBERS };
        const query = { ...filter, sort: filter.sort ?? "group", ...own };
        return (await answer(api.GET("/v1/jobs", { params: { query } }))).data;
      },
    })),
    combine: dataOf,
  });
  return useMemo(() => new Map(found.map((data, index) => [groups[index] ?? "", data])), [found, groups]);
}

const dataOf = (results: readonly UseQueryResult<JobSummary[]>[]) => results.map(({ data }) => data);

/** The jobs of an opened group have no pages. */
type Pages = Partial<InfiniteData<{ readonly data: readonly JobSummary[] }>>;

/** The columns that the jobs of the present lists suggest. */
export function useSuggestedColumns() {
  const client = useQueryClient();
  const { data: reference } = useQuery(metricReferenceQuery);
  return useMemo(() => {
    const lists = client.getQueriesData<Pages>({ queryKey: [...jobsKey, "list"] });
    const jobs = lists.flatMap(([, found]) => found?.pages?.flatMap((page) => page.data) ?? []);
    return suggestedColumns(jobs, metricsOfSpec(reference ?? [], {}));
  }, [client, reference]);
}
