import { queryOptions } from "@tanstack/react-query";
import type { DirectAction } from "@/features/job-actions/model/menu";
import { jobsKey } from "@/features/jobs/api";
import { accepted, answer, api, ApiError } from "@/lib/api/client";
import type { components } from "@/lib/api/schema.gen";
import type { Job } from "@/lib/api/types";

type JobChange = components["schemas"]["ChangeJob"];
export type Commands = components["schemas"]["CommandRequest"];

const of = (id: string) => ({ params: { path: { job_id: id } } });

/** Requests an action that needs no further input. */
export const requestAction = (id: string, action: DirectAction | "cancel") =>
  answer(api.POST(`/v1/jobs/{job_id}/${action}`, of(id)));

export const cancelJob = (id: string) => requestAction(id, "cancel");
export const archiveJob = (id: string) => requestAction(id, "archive");
export const unarchiveJob = (id: string) => requestAction(id, "unarchive");
export const deleteJob = (id: string) => accepted(api.DELETE("/v1/jobs/{job_id}", of(id)));

export const extendJob = (id: string, steps: number) =>
  answer(api.POST("/v1/jobs/{job_id}/extend", { ...of(id), body: { steps } }));

/** The job as it is now. */
export const readJob = (id: string) => answer(api.GET("/v1/jobs/{job_id}", of(id)));

/** Refused with status 412 if the job was changed since it had this ETag. */
export const changeJob = (id: string, body: JobChange, etag: string) =>
  answer(api.PATCH("/v1/jobs/{job_id}", { ...of(id), body, headers: { "If-Match": `"${etag}"` } }));

export const isOutdated = (error: unknown): boolean => error instanceof ApiError && error.status === 412;

/** Adds a tag. The other tags are read again if the job was changed meanwhile. */
export async function addTag(job: Pick<Job, "id" | "tags" | "etag">, tag: string): Promise<Job> {
  const add = ({ id, tags, etag }: typeof job) => changeJob(id, { tags: [...tags, tag] }, etag);
  try {
    return await add(job);
  } catch (error) {
    if (!isOutdated(error)) throw error;
    return add(await readJob(job.id));
  }
}

/** The live knobs of the stage that runs. */
export const knobsQuery = (id: string) =>
  queryOptions({
    queryKey: [...jobsKey, id, "knobs"],
    queryFn: () => answer(api.GET("/v1/jobs/{job_id}/knobs", of(id))),
  });

/** The newest commands of a job, newest first. */
export const commandsQuery = (id: string) =>
  queryOptions({
    queryKey: [...jobsKey, id, "commands"],
    queryFn: async () => {
      const query = { limit: 50, order: "desc" } as const;
      return (await answer(api.GET("/v1/jobs/{job_id}/commands", { params: { path: { job_id: id }, query } }))).data;
    },
  });

export const sendCommands = (id: string, body: Commands) =>
  answer(api.POST("/v1/jobs/{job_id}/commands", { ...of(id), body }));
