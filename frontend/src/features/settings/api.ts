import { queryOptions } from "@tanstack/react-query";
import { accepted, allPages, answer, api } from "@/lib/api/client";
import type { components } from "@/lib/api/schema.gen";

export type Key = components["schemas"]["Key"];
export type CreatedKey = components["schemas"]["CreatedKey"];
export type Scope = components["schemas"]["Scope"];
export type BrowserSession = components["schemas"]["BrowserSession"];
export type Member = components["schemas"]["Member"];
export type Role = components["schemas"]["Role"];
type CreatedMember = components["schemas"]["CreatedMember"];
export type Usage = components["schemas"]["Usage"];

export const keysQuery = queryOptions({
  queryKey: ["keys"],
  queryFn: () => allPages(() => answer(api.GET("/v1/keys"))),
});

export const createKey = (body: components["schemas"]["NewKey"]): Promise<CreatedKey> =>
  answer(api.POST("/v1/keys", { body }));

/** The old key stays valid beside the new one for so many seconds. */
export const rotateKey = (id: string, overlapSeconds: number): Promise<CreatedKey> =>
  answer(
    api.POST("/v1/keys/{key_id}/rotate", {
      params: { path: { key_id: id } },
      body: { overlap_seconds: overlapSeconds },
    }),
  );

/** `andMade`: also the keys that it made, and those that these made. */
export const revokeKey = (id: string, andMade: boolean): Promise<Key> =>
  answer(api.POST("/v1/keys/{key_id}/revoke", { params: { path: { key_id: id }, query: { and_made: andMade } } }));

/** The valid keys that a key made, and those that these made. */
export function validKeysMadeBy(id: string, keys: readonly Key[]): Key[] {
  const made = keys.filter((key) => key.made_by === id);
  return made.flatMap((key) => [...(key.revoked_at ? [] : [key]), ...validKeysMadeBy(key.id, keys)]);
}

export const sessionsQuery = queryOptions({
  queryKey: ["sessions"],
  queryFn: () => allPages(() => answer(api.GET("/v1/sessions"))),
});

export const endSession = (id: string): Promise<void> =>
  accepted(api.DELETE("/v1/sessions/{session_id}", { params: { path: { session_id: id } } }));

export const membersQuery = queryOptions({
  queryKey: ["members"],
  queryFn: () => allPages(() => answer(api.GET("/v1/members"))),
});

export const projectQuery = queryOptions({ queryKey: ["project"], queryFn: () => answer(api.GET("/v1/project")) });

export interface Joining {
  readonly name: string;
  readonly kind: Member["kind"];
  readonly role: Role;
}

export const addMember = (body: Joining): Promise<CreatedMember> => answer(api.POST("/v1/members", { body }));

export const setRole = (id: string, role: Role): Promise<Member> =>
  answer(api.PUT("/v1/members/{user_id}/role", { params: { path: { user_id: id } }, body: { role } }));

export const removeMember = (id: string): Promise<void> =>
  accepted(api.DELETE("/v1/members/{user_id}", { params: { path: { user_id: id } } }));

export const usageQuery = queryOptions({
  queryKey: ["usage"],
  queryFn: () => answer(api.GET("/v1/usage")),
  refetchInterval: 15_000,
});

export type PlatformProject = components["schemas"]["PlatformProject"];
export type PlatformJob = components["schemas"]["PlatformJob"];

const PAGE = 100;
const REFRESH_MS = 15_000;

export const platformProjectsQuery = queryOptions({
  queryKey: ["platform", "projects"],
  queryFn: () =>
    allPages((after) => answer(api.GET("/v1/admin/projects", { params: { query: { limit: PAGE, after } } }))),
  refetchInterval: REFRESH_MS,
});

/** The newest unfinished jobs of all projects. */
export const platformJobsQuery = queryOptions({
  queryKey: ["platform", "jobs"],
  queryFn: () => {
    const status: PlatformJob["status"][] = ["queued", "starting", "running", "pausing", "paused", "cancelling"];
    return answer(api.GET("/v1/admin/jobs", { params: { query: { limit: PAGE, status } } }));
  },
  refetchInterval: REFRESH_MS,
});
