import type { JobSummary } from "@/lib/api/types";

/** The columns that can be shown beside the name of a job. Those that sort have one value for a job. */
export const COLUMNS = [
  { id: "status", label: "Status", sorts: true },
  { id: "model", label: "Model", sorts: true },
  { id: "progress", label: "Progress", sorts: true },
  { id: "reward", label: "PPO reward", sorts: true },
  { id: "kl", label: "KL", sorts: true },
  { id: "win_rate", label: "Win rate", sorts: true },
  { id: "tags", label: "Tags", sorts: false },
  { id: "group", label: "Group", sorts: true },
  { id: "created", label: "Created", sorts: true },
  { id: "duration", label: "Duration", sorts: true },
  { id: "gpu_hours", label: "GPU-hours", sorts: true },
  { id: "submitted_by", label: "Submitted by", sorts: true },
] as const;
export type ColumnId = (typeof COLUMNS)[number]["id"];

const START: readonly ColumnId[] = ["status", "progress", "reward", "tags", "created", "duration"];
/** Shown at first on a wide screen, in addition. */
const WIDE_START: readonly ColumnId[] = [...START, "model", "kl", "win_rate", "gpu_hours"];

/** Reads the chosen columns from a stored text such as "status,kl". Unknown ones are left out. */
export function readColumns(text: string | null, isWide = false): readonly ColumnId[] {
  if (text === null) return isWide ? COLUMNS.map(({ id }) => id).filter((id) => WIDE_START.includes(id)) : START;
  const wanted = text.split(",");
  return COLUMNS.map((column) => column.id).filter((id) => wanted.includes(id));
}

type Listed = Pick<
  JobSummary,
  | "name"
  | "model"
  | "submitted_by"
  | "gpu_hours"
  | "status"
  | "progress"
  | "reward_sparkline"
  | "summary"
  | "latest_metrics"
  | "group"
  | "created_at"
  | "started_at"
  | "finished_at"
>;

/** KL of the result; while a job runs, of its newest step. */
export const klOf = (job: Pick<Listed, "summary" | "latest_metrics">): number | undefined =>
  job.summary?.kl ?? job.latest_metrics["objective/kl"];

/** The value that a column sorts by; undefined where a job has none. */
function valueOf(job: Listed, by: ColumnId | "name", now: number): string | number | undefined {
  switch (by) {
    case "name":
      return job.name.toLowerCase();
    case "status":
      return job.status;
    case "model":
      return job.model?.toLowerCase();
    case "submitted_by":
      return job.submitted_by?.toLowerCase();
    case "gpu_hours":
      return job.gpu_hours;
    case "progress":
      return job.progress?.fraction;
    case "reward":
      return job.reward_sparkline.at(-1);
    case "kl":
      return klOf(job);
    case "win_rate":
      return job.summary?.win_rate;
    case "group":
      return job.group?.group_id;
    case "created":
      return Date.parse(job.created_at);
    case "duration":
      return job.started_at
        ? Date.parse(job.finished_at ?? new Date(now).toISOString()) - Date.parse(job.started_at)
        : undefined;
    case "tags":
      return undefined;
  }
}

/** The jobs in order of a column. Jobs without a value come last in both directions. */
export function sorted<Job extends Listed>(
  jobs: readonly Job[],
  sort: { by: ColumnId | "name"; isDescending: boolean } | null,
  now: number,
): readonly Job[] {
  if (!sort) return jobs;
  const sign = sort.isDescending ? -1 : 1;
  return jobs
    .map((job) => ({ job, value: valueOf(job, sort.by, now) }))
    .sort((a, b) => {
      if (a.value === undefined || b.value === undefined)
        return Number(a.value === undefined) - Number(b.value === undefined);
      return a.value < b.value ? -sign : a.value > b.value ? sign : 0;
    })
    .map(({ job }) => job);
}
