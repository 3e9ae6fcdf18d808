import { queryOptions } from "@tanstack/react-query";
import { allPages, answer, api } from "@/lib/api/client";
import type { components } from "@/lib/api/schema.gen";

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
  queryFn: async () => {
    const status: PlatformJob["status"][] = ["queued", "starting", "running", "pausing", "paused", "cancelling"];
    return (await answer(api.GET("/v1/admin/jobs", { params: { query: { limit: PAGE, status } } }))).data;
  },
  refetchInterval: REFRESH_MS,
});
