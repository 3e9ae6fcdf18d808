import { queryOptions } from "@tanstack/react-query";
import { accepted, answer, api, ApiError, sessionKey } from "@/lib/api/client";

/** The session of the user; null while signed out. */
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
export const signInByCode = (code: string) => answer(api.POST("/v1/session", { body: { code } }));
export const signOut = () => accepted(api.DELETE("/v1/session"));

/** Takes the one-time code out of `?code=…`, so that it stays neither in the address bar nor in the history. */
export function takeCode({ location, history }: Pick<Window, "location" | "history">): string | null {
  const url = new URL(location.href);
  const code = url.searchParams.get("code");
  if (code === null) return null;
  url.searchParams.delete("code");
  history.replaceState(history.state, "", url);
  return code.trim() || null;
}
