import { Link } from "react-router";
import { Sparkline } from "@/charts/sparkline";
import { StatusBadge } from "@/components/status-badge";
import { TimeAgo } from "@/components/time-ago";
import { useNow } from "@/components/use-now";
import { JobProgress } from "@/features/jobs/ui/job-progress";
import type { JobSummary } from "@/lib/api/types";
import { duration, secondsBetween } from "@/lib/format";
import { paths } from "@/lib/paths";
import styles from "./job-table.module.css";

export function JobTable({ jobs }: { jobs: readonly JobSummary[] }) {
  return (
    <div className={styles.frame}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Job</th>
            <th scope="col">Status</th>
            <th scope="col">Progress</th>
            <th scope="col">PPO reward</th>
            <th scope="col">Created</th>
            <th scope="col">Duration</th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <JobRow key={job.id} job={job} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function JobRow({ job }: { job: JobSummary }) {
  return (
    <tr>
      <td className={styles.name}>
        <Link to={paths.job(job.id)}>{job.name || "Unnamed job"}</Link>
        <code>{job.id}</code>
      </td>
      <td className={styles.status}>
        <StatusBadge status={job.status} />
      </td>
      <td className={styles.progress}>
        <JobProgress job={job} />
      </td>
      <td className={styles.reward}>
        <Sparkline values={job.reward_sparkline} label="Reward in PPO" />
      </td>
      <td className={styles.created}>
        <TimeAgo time={job.created_at} />
      </td>
      <td className={styles.duration}>
        <Duration job={job} />
      </td>
    </tr>
  );
}

function Duration({ job }: { job: JobSummary }) {
  const now = useNow();
  if (!job.started_at) return <>–</>;
  const end = job.finished_at ? Date.parse(job.finished_at) : now;
  return <>{duration(secondsBetween(job.started_at, end))}</>;
}
