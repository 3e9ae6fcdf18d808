import type { Sweep } from "@/features/job-form/api";
import type { Submission } from "@/features/job-form/model/exchange";
import type { Start } from "@/features/job-form/model/origin";
import type { JsonObject } from "@/features/job-form/model/spec";

export const PRIORITIES = ["low", "normal", "high"] as const;

/** How a new job waits. A clone and a branch wait as the job that they are made from. */
export interface Queueing {
  readonly priority: (typeof PRIORITIES)[number];
  readonly preemptible: boolean;
  /** The group that a single job joins; null for none. */
  readonly group: string | null;
}

export const QUEUEING: Queueing = { priority: "normal", preemptible: false, group: null };

/** The part of the address that names what differs from the usual. */
function queryOf({ priority, preemptible, group }: Queueing): string {
  const parts = [
    priority !== QUEUEING.priority && `priority=${priority}`,
    preemptible && "preemptible=true",
    group && `group=${group}`,
  ];
  const query = parts.filter(Boolean).join("&");
  return query && `?${query}`;
}

/** The request that the form sends, for the texts that repeat it in a program. */
export function submissionOf(
  { job, checkpoint }: Start,
  spec: JsonObject,
  patch: JsonObject,
  sweep: Sweep | null,
  queueing: Queueing = QUEUEING,
): Submission {
  if (sweep)
    return {
      path: `/v1/sweeps${queryOf({ ...queueing, group: null })}`,
      body: JSON.parse(JSON.stringify(sweep)) as JsonObject,
    };
  if (!job) return { path: `/v1/jobs${queryOf(queueing)}`, body: spec };
  if (!checkpoint) return { path: `/v1/jobs/${job.id}/clone`, body: { patch } };
  return { path: `/v1/jobs/${job.id}/branch`, body: { checkpoint: checkpoint.id, patch } };
}
