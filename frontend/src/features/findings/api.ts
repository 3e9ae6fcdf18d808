import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/lib/api/client";
import type { components, operations } from "@/lib/api/schema.gen";

export type HealthFinding = components["schemas"]["HealthFinding"];
export type FindingFilter = Pick<
  NonNullable<operations["list_findings"]["parameters"]["query"]>,
  "severity" | "rule" | "job" | "status" | "archived"
>;

const PAGE = 25;

/** The findings that match, newest first, a page at a time. */
export const findingsQuery = (filter: FindingFilter) =>
  infiniteQueryOptions({
    queryKey: ["findings", "list", filter],
    queryFn: ({ pageParam }) =>
      answer(api.GET("/v1/findings", { params: { query: { ...filter, limit: PAGE, after: pageParam } } })),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => (page.has_more ? page.last_id : null),
  });

/** The health rules with their titles. They change with the software only. */
export const healthRulesQuery = queryOptions({
  queryKey: ["reference", "health-rules"],
  queryFn: async () => (await answer(api.GET("/v1/reference/health-rules"))).data,
  staleTime: Infinity,
});
