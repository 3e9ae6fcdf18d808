import { Link } from "react-router";
import { Sparkline } from "@/charts/sparkline";
import { ProgressBar, StatusBadge } from "@/components/status";
import { TimeAgo, useNow } from "@/components/text";
import { type ColumnId, klOf } from "@/features/jobs/model/columns";
import { paths } from "@/lib/address";
import type { JobSummary } from "@/lib/api/types";
import { duration, hours, measured, NO_VALUE, percent, secondsBetween } from "@/lib/format";
import { hasEnded, stageShort, statusTone } from "@/lib/states";
import styles from "./jobs.module.css";

/** Tags of a job that its row shows. Its page shows all of them. */
const MOST_TAGS = 4;

interface JobCellProps {
  job: JobSummary;
  column: ColumnId;
  onTag: (tag: string) => void;
}

/** The cell of a job in a chosen column. */
export function JobCell({ job, column, onTag }: JobCellProps) {
  switch (column) {
    case "status":
      return (
        <td>
          <StatusBadge status={job.status} />
        </td>
      );
    case "model":
      return (
        <td className={styles.model} data-label="Model" title={job.model ?? undefined}>
          {job.model ? modelName(job.model) : "new model"}
        </td>
      );
    case "submitted_by":
      return <td data-label="By">{job.submitted_by ?? NO_VALUE}</td>;
    case "gpu_hours":
      return <td data-label="GPU-hours">{hours(job.gpu_hours)}</td>;
    case "progress":
      return (
        <td className={styles.progress}>
          <JobProgress job={job} />
        </td>
      );
    case "reward":
      return (
        <td className={styles.reward}>
          <Sparkline values={job.reward_sparkline} label="Reward in PPO" />
        </td>
      );
    case "kl":
      return <td data-label="KL">{measured(klOf(job))}</td>;
    case "win_rate":
      return <td data-label="Win rate">{percent(job.summary?.win_rate)}</td>;
    case "tags":
      return (
        <td className={styles.tags}>
          {job.tags.slice(0, MOST_TAGS).map((tag) => (
            <button
              key={tag}
              type="button"
              className={styles.chip}
              title="Show the jobs with this tag"
              onClick={() => onTag(tag)}
            >
              {tag}
            </button>
          ))}
          {job.tags.length > MOST_TAGS && (
            <small title={job.tags.slice(MOST_TAGS).join(", ")}>and {job.tags.length - MOST_TAGS} more</small>
          )}
        </td>
      );
    case "group":
      return (
        <td className={styles.above}>
          {job.group ? <Link to={paths.group(job.group.group_id)}>{`Run ${job.group.number}`}</Link> : NO_VALUE}
        </td>
      );
    case "created":
      return (
        <td className={styles.time}>
          <TimeAgo time={job.created_at} />
        </td>
      );
    case "duration":
      return (
        <td className={styles.time}>
          <Duration job={job} />
        </td>
      );
  }
}

/** The last part of a path, and the name of a model of the hub without its owner. */
const modelName = (path: string): string => path.replace(/\/+$/, "").split("/").at(-1) || path;

function Duration({ job }: { job: JobSummary }) {
  const now = useNow();
  if (!job.started_at) return <>{NO_VALUE}</>;
  const end = job.finished_at ? Date.parse(job.finished_at) : now;
  return <>{duration(secondsBetween(job.started_at, end))}</>;
}

/** How far a job is; or why it waits, or why it failed. */
function JobProgress({ job }: { job: JobSummary }) {
  if (job.status === "queued") return <span className={styles.why}>{job.queue_reason ?? job.status_reason}</span>;
  if (job.status === "failed") return <span className={styles.why}>{job.error?.message ?? job.status_reason}</span>;
  const { progress } = job;
  if (!progress) return <span className={styles.why}>{job.status_reason}</span>;
  return (
    <div className={styles.bar}>
      <span>
        {job.status === "succeeded" ? <Outcome job={job} /> : <Where progress={progress} />}
        {!hasEnded(job.status) && progress.eta_seconds !== null && (
          <span className={styles.eta}>{duration(progress.eta_seconds)} left in this stage</span>
        )}
      </span>
      <ProgressBar fraction={progress.fraction} label={`Progress of ${job.name}`} tone={statusTone(job.status)} />
    </div>
  );
}

function Where({ progress }: { progress: NonNullable<JobSummary["progress"]> }) {
  const { seeds_done: done, seed_count: seeds } = progress;
  if (done > 0) return <>{`${done} / ${seeds} seeds`}</>;
  return <>{`${stageShort(progress.stage)} ${progress.step} / ${progress.total_steps}`}</>;
}

function Outcome({ job }: { job: JobSummary }) {
  const rate = job.summary?.win_rate;
  return typeof rate === "number" ? <>win rate {percent(rate)}</> : <>finished</>;
}
