import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { accepted, answer, api } from "@/api/client";

export const datasetsKey = ["datasets"] as const;

export const datasetsQuery = infiniteQueryOptions({
  queryKey: [...datasetsKey, "list"],
  queryFn: ({ pageParam }) => answer(api.GET("/v1/datasets", { params: { query: { limit: 50, after: pageParam } } })),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => (page.has_more ? page.last_id : null),
});

export const datasetQuery = (id: string) =>
  queryOptions({
    queryKey: [...datasetsKey, id],
    queryFn: () => answer(api.GET("/v1/datasets/{dataset_id}", { params: { path: { dataset_id: id } } })),
  });

/** Rows behind number `after`. Stored rows never change. */
export const rowsQuery = (id: string, after: number, limit: number) =>
  queryOptions({
    queryKey: [...datasetsKey, id, "rows", after, limit],
    queryFn: () =>
      answer(
        api.GET("/v1/datasets/{dataset_id}/rows", { params: { path: { dataset_id: id }, query: { after, limit } } }),
      ),
    staleTime: Infinity,
  });

export const deleteDataset = (id: string) =>
  accepted(api.DELETE("/v1/datasets/{dataset_id}", { params: { path: { dataset_id: id } } }));
