import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError } from "@/lib/api/problem";

export const sessionKey = ["session"] as const;

/** A session that ended shows the sign-in page, wherever it was noticed. */
export function noticeSignOut(error: unknown): void {
  if (error instanceof ApiError && error.status === 401) queryClient.setQueryData(sessionKey, null);
}

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noticeSignOut }),
  mutationCache: new MutationCache({ onError: noticeSignOut }),
  defaultOptions: {
    queries: {
      retry: (failures, error) => failures < 2 && (!(error instanceof ApiError) || error.isPassing),
      retryDelay: (failures) => 500 * 2 ** failures,
      staleTime: 1000,
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});
