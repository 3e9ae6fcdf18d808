import { queryOptions } from "@tanstack/react-query";
import { allPages, answer, api } from "@/lib/api/client";
import type { components } from "@/lib/api/schema.gen";

export type Key = components["schemas"]["Key"];
type CreatedKey = components["schemas"]["CreatedKey"];
export type Usage = components["schemas"]["Usage"];

export const keysQuery = queryOptions({
  queryKey: ["keys"],
  queryFn: () => allPages(() => answer(api.GET("/v1/keys"))),
});

export const createKey = (name: string): Promise<CreatedKey> => answer(api.POST("/v1/keys", { body: { name } }));

/** `andMade`: also the keys that it made, and those that these made. */
export const revokeKey = (id: string, andMade: boolean): Promise<Key> =>
  answer(api.POST("/v1/keys/{key_id}/revoke", { params: { path: { key_id: id }, query: { and_made: andMade } } }));

/** The valid keys that a key made, and those that these made. */
export function validKeysMadeBy(id: string, keys: readonly Key[]): Key[] {
  const made = keys.filter((key) => key.made_by === id);
  return made.flatMap((key) => [...(key.revoked_at ? [] : [key]), ...validKeysMadeBy(key.id, keys)]);
}

export const usageQuery = queryOptions({
  queryKey: ["usage"],
  queryFn: () => answer(api.GET("/v1/usage")),
  refetchInterval: 15_000,
});
