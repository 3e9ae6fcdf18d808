import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/lib/api/client";
import type { components } from "@/lib/api/schema.gen";

export type Group = components["schemas"]["Group"];
export type GroupJob = components["schemas"]["GroupJob"];

export const groupsKey = ["groups"] as const;

export const groupsQuery = infiniteQueryOptions({
  queryKey: [...groupsKey, "list"],
  queryFn: ({ pageParam }) => answer(api.GET("/v1/groups", { params: { query: { limit: 25, after: pageParam } } })),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => (page.has_more ? page.last_id : null),
});

const of = (id: string) => ({ params: { path: { group_id: id } } });

/** The metric and goal that decide; null for those of the group. */
export interface Objective {
  readonly metric: string | null;
  readonly goal: Group["goal"] | null;
}

const OWN: Objective = { metric: null, goal: null };

export const groupQuery = (id: string, { metric, goal }: Objective = OWN) =>
  queryOptions({
    queryKey: [...groupsKey, id, metric, goal],
    queryFn: () => {
      const query = { ...(metric !== null && { metric }), ...(goal !== null && { goal }) };
      return answer(api.GET("/v1/groups/{group_id}", { params: { path: { group_id: id }, query } }));
    },
  });

export const cancelGroup = (id: string) => answer(api.POST("/v1/groups/{group_id}/cancel", of(id)));
