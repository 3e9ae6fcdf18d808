import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { StatusBadge } from "@/components/status";
import { jobQuery } from "@/features/jobs/api";
import { paths } from "@/lib/address";
import type { Job, JobSummary } from "@/lib/api/types";
import { count } from "@/lib/format";
import { jobName } from "@/lib/names";
import { stageShort } from "@/lib/states";
import styles from "./about.module.css";

const MOST_ANCESTORS = 8;

/** The jobs that this one was made from, the oldest first, and its own attempts. */
export function Lineage({ job }: { job: Job }) {
  return (
    <ol className={styles.lineage}>
      <Ancestors of={job} depth={0} />
      <li>
        <span className={`${styles.job} ${styles.present}`} aria-current="page">
          <b>{jobName(job)}</b>
          <StatusBadge status={job.status} />
          {job.attempt > 1 && <span>{count(job.attempt, "attempt")}: it was resumed or tried again</span>}
        </span>
      </li>
    </ol>
  );
}

/** The parent of a job with its own ancestors before it, and the edge to the job. */
function Ancestors({ of, depth }: { of: JobSummary; depth: number }) {
  const parent = useQuery({ ...jobQuery(of.parent?.job ?? ""), enabled: of.parent !== null, retry: false });
  if (!of.parent) return depth === 0 && <li className={styles.edge}>Submitted as a new job</li>;
  return (
    <>
      {parent.data && depth < MOST_ANCESTORS && <Ancestors of={parent.data} depth={depth + 1} />}
      <li>
        {parent.isError ? (
          <span className={styles.job}>A job that was deleted: {of.parent.job}</span>
        ) : (
          <span className={styles.job}>
            <Link to={paths.job(of.parent.job)}>{parent.data?.name ?? of.parent.job}</Link>
            {parent.data && <StatusBadge status={parent.data.status} />}
          </span>
        )}
      </li>
      <li className={styles.edge}>{relation(of.parent)}</li>
    </>
  );
}

function relation({ relation, stage, step }: NonNullable<JobSummary["parent"]>): string {
  if (relation === "clone") return "cloned with its spec";
  if (relation === "extend") return "extended by more steps of PPO";
  return stage ? `branched from ${stageShort(stage)} step ${step ?? 0}` : "branched from a checkpoint";
}
