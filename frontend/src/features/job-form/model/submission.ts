import type { Sweep } from "@/features/job-form/api";
import type { Submission } from "@/features/job-form/model/exchange";
import type { Start } from "@/features/job-form/model/origin";
import type { JsonObject } from "@/features/job-form/model/spec";

/** The request that the form sends, for the texts that repeat it in a program. */
export function submissionOf(
  { job, checkpoint }: Start,
  spec: JsonObject,
  patch: JsonObject,
  sweep: Sweep | null,
): Submission {
  if (sweep) return { path: "/v1/sweeps", body: JSON.parse(JSON.stringify(sweep)) as JsonObject };
  if (!job) return { path: "/v1/jobs", body: spec };
  if (!checkpoint) return { path: `/v1/jobs/${job.id}/clone`, body: { patch } };
  return { path: `/v1/jobs/${job.id}/branch`, body: { checkpoint: checkpoint.id, patch } };
}
