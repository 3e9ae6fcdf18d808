import { Sparkline } from "@/charts/sparkline";
import { ProgressBar, StatusBadge } from "@/components/status";
import { RowLink, Table } from "@/components/table";
import { TimeAgo, useNow } from "@/components/text";
import { JobActions } from "@/features/job-actions/ui";
import { paths } from "@/lib/address";
import type { JobSummary } from "@/lib/api/types";
import { duration, percent, secondsBetween, NO_VALUE } from "@/lib/format";
import { hasEnded, stageShort, statusTone } from "@/lib/states";
import styles from "./job-table.module.css";

const HEAD = ["Job", "Status", "Progress", "PPO reward", "Created", "Duration"];
const ACTIONS = (
  <th key="actions" scope="col">
    <span className="visually-hidden">Actions</span>
  </th>
);

export function JobTable({ jobs }: { jobs: readonly JobSummary[] }) {
  return (
    <Table head={[...HEAD, ACTIONS]} className={styles.jobs}>
      {jobs.map((job) => (
        <JobRow key={job.id} job={job} />
      ))}
    </Table>
  );
}

function JobRow({ job }: { job: JobSummary }) {
  return (
    <tr>
      <td className={styles.name}>
        <RowLink to={paths.job(job.id)}>{job.name || "Unnamed job"}</RowLink>
        <code>{job.id}</code>
      </td>
      <td>
        <StatusBadge status={job.status} />
      </td>
      <td className={styles.progress}>
        <JobProgress job={job} />
      </td>
      <td className={styles.reward}>
        <Sparkline values={job.reward_sparkline} label="Reward in PPO" />
      </td>
      <td className={styles.time}>
        <TimeAgo time={job.created_at} />
      </td>
      <td className={styles.time}>
        <Duration job={job} />
      </td>
      <td className={styles.menu}>
        <JobActions job={job} look="row" />
      </td>
    </tr>
  );
}

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
