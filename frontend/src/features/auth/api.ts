import { queryOptions } from "@tanstack/react-query";
import { accepted, answer, api } from "@/lib/api/client";
import { ApiError } from "@/lib/api/problem";
import { sessionKey } from "@/lib/api/query-client";

/** Who is signed in; null when nobody is. */
export const sessionQuery = queryOptions({
  queryKey: sessionKey,
  queryFn: async () => {
    try {
      return await answer(api.GET("/v1/session"));
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return null;
      throw error;
    }
  },
  staleTime: Infinity,
});

export const signIn = (token: string) => answer(api.POST("/v1/session", { body: { token } }));
export const signOut = () => accepted(api.DELETE("/v1/session"));
