import type { GroupJob } from "@/features/groups/api";
import { NO_VALUE } from "@/lib/format";
import { hasEnded } from "@/lib/states";

/** The fields in which the jobs of a group differ, each once, in the order in which they occur. */
export const parametersOf = (jobs: readonly Pick<GroupJob, "values">[]): readonly string[] => [
  ...new Set(jobs.flatMap((job) => Object.keys(job.values))),
];

/** A value of a field as text; a dash for a job that has none. */
export function valueText(value: unknown): string {
  if (value === undefined) return NO_VALUE;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The value by which a column of the field sorts: numbers by size, anything else by its text. Undefined comes last. */
export const sortValue = (value: unknown): number | string | undefined =>
  typeof value === "number" || value === undefined ? value : valueText(value);

/** How many jobs have not ended. */
export const openCount = (statuses: Readonly<Record<string, number>>): number =>
  Object.entries(statuses).reduce((sum, [status, jobs]) => sum + (hasEnded(status) ? 0 : jobs), 0);
