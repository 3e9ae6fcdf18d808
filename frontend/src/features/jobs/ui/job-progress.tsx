import { ProgressBar } from "@/components/progress-bar";
import type { JobSummary } from "@/lib/api/types";
import { duration, percent } from "@/lib/format";
import { stageShort } from "@/lib/stages";
import { hasEnded, statusTone } from "@/lib/status";
import styles from "./job-table.module.css";

/** How far a job is; or why it waits, or why it failed. */
export function JobProgress({ job }: { job: JobSummary }) {
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
