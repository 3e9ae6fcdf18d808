import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/lib/api/client";

/** What each metric means. It changes with the software only. */
export const metricReferenceQuery = queryOptions({
  queryKey: ["reference", "metrics"],
  queryFn: async () => (await answer(api.GET("/v1/reference/metrics"))).data,
  staleTime: Infinity,
});

export const workersQuery = queryOptions({
  queryKey: ["workers"],
  queryFn: async () => (await answer(api.GET("/v1/workers"))).data,
});
