import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/lib/api/client";

const FOUND = 8;

/** The newest jobs and datasets whose name or id contains `text`; the newest ones without a text. */
export const searchQuery = (text: string) =>
  queryOptions({
    queryKey: ["palette", text],
    queryFn: async ({ signal }) => {
      const jobs = answer(api.GET("/v1/jobs", { params: { query: { limit: FOUND, ...(text && { text }) } }, signal }));
      const query = { limit: FOUND, ...(text && { search: text }) };
      const datasets = answer(api.GET("/v1/datasets", { params: { query }, signal }));
      return { jobs: (await jobs).data, datasets: (await datasets).data };
    },
    staleTime: 5000,
    // While the next answer is on its way, the list shows the one before.
    placeholderData: (before) => before,
  });
