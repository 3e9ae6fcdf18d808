import { useQuery } from "@tanstack/react-query";
import { sessionKey } from "@/lib/api/client";
import type { components } from "@/lib/api/schema.gen";

type Session = components["schemas"]["Session"];
type Action = components["schemas"]["Action"];

/** The rights of the user; all rights until the session is known. The API decides each request anew. */
export function usePermissions() {
  const { data } = useQuery<Session | null>({ queryKey: sessionKey, enabled: false });
  return {
    may: (action: Action): boolean => data?.permissions.includes(action) ?? true,
  };
}
