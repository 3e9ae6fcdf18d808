import type { JobSummary } from "@/lib/api/types";

/** A row of the list: a job, or a group whose jobs are folded into one row. */
export interface ListRow {
  /** Distinguishes it from the others. */
  readonly id: string;
  readonly job: JobSummary;
  /** Whether the row is a job of an opened group above it. */
  readonly isNested: boolean;
}

/** The rows of the jobs of a page. `members`: those of the opened groups, by the id of the group, once they are known. */
export function rowsOf(
  jobs: readonly JobSummary[],
  members: ReadonlyMap<string, readonly JobSummary[] | undefined>,
): ListRow[] {
  return jobs.flatMap((job) => {
    const { folded } = job;
    if (!folded) return [{ id: job.id, job, isNested: false }];
    const opened = members.get(folded.group_id) ?? [];
    return [
      { id: folded.group_id, job, isNested: false },
      ...opened.map((one) => ({ id: one.id, job: { ...one, folded: null }, isNested: true })),
    ];
  });
}

/** "24 succeeded, 3 failed". */
export const statusesText = (statuses: Readonly<Record<string, number | undefined>>): string =>
  Object.entries(statuses)
    .flatMap(([status, jobs]) => (jobs ? [`${jobs} ${status}`] : []))
    .join(", ");
