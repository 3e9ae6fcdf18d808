import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/lib/api/client";

const FOUND = 8;

/** The newest jobs and datasets whose name or id contains `text`; the newest ones without a text. */
export const searchQuery = (text: string) =>
  queryOptions({
    queryKey: ["palette", text],
    queryFn: async ({ signal }) => {
      const query = { limit: FOUND, ...(text && { search: text }) };
      // Together, so that both errors are handled when a newer text ends the requests.
      const [jobs, datasets] = await Promise.all([
        answer(api.GET("/v1/jobs", { params: { query: { limit: FOUND, ...(text && { text }) } }, signal })),
        answer(api.GET("/v1/datasets", { params: { query }, signal })),
      ]);
      return { jobs: jobs.data, datasets: datasets.data };
    },
    staleTime: 5000,
    // While the next answer is on its way, the list shows the one before.
    placeholderData: (before) => before,
  });
