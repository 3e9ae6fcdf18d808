import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/lib/api/client";
import type { components } from "@/lib/api/schema.gen";

export type Group = components["schemas"]["Group"];
export type GroupJob = components["schemas"]["GroupJob"];
export type GroupSummary = components["schemas"]["GroupSummary"];

export const groupsKey = ["groups"] as const;

export const groupsQuery = infiniteQueryOptions({
  queryKey: [...groupsKey, "list"],
  queryFn: ({ pageParam }) => answer(api.GET("/v1/groups", { params: { query: { limit: 25, after: pageParam } } })),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => (page.has_more ? page.last_id : null),
});

const of = (id: string) => ({ params: { path: { group_id: id } } });

export const groupQuery = (id: string) =>
  queryOptions({
    queryKey: [...groupsKey, id],
    queryFn: () => answer(api.GET("/v1/groups/{group_id}", of(id))),
  });

export const cancelGroup = (id: string) => answer(api.POST("/v1/groups/{group_id}/cancel", of(id)));
