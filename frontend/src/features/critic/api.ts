import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { jobsKey } from "@/features/jobs/api";
import { answer, api } from "@/lib/api/client";

/** The critic card of a step; null where the step has none. After a resume the later one counts. */
export const cardQuery = (id: string, seed: number | null, step: number) =>
  queryOptions({
    queryKey: [...jobsKey, id, "critic-card", seed, step],
    queryFn: async () => {
      const query = { types: "critic_card", step, limit: 1000, ...(seed !== null && { seed }) };
      const params = { path: { job_id: id }, query };
      const { data } = await answer(api.GET("/v1/jobs/{job_id}/events", { params }));
      const last = data.at(-1);
      return last?.type === "critic_card" ? last.data.card : null;
    },
    staleTime: Infinity,
    placeholderData: keepPreviousData,
  });
