import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/lib/api/client";

export const jobsKey = ["jobs"] as const;

export const jobQuery = (id: string) =>
  queryOptions({
    queryKey: [...jobsKey, id],
    queryFn: () => answer(api.GET("/v1/jobs/{job_id}", { params: { path: { job_id: id } } })),
  });
