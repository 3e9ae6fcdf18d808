import { useQuery } from "@tanstack/react-query";
import { ErrorNotice } from "@/components/notice";
import { Skeleton, StatusBadge } from "@/components/status";
import { lineageQuery } from "@/features/run/api";
import { placeText } from "@/features/run/model/origin";
import { ParentText, RunName } from "@/features/run/ui/origin";
import type { Job, JobChild } from "@/lib/api/types";
import { count } from "@/lib/format";
import { jobName } from "@/lib/names";
import styles from "./about.module.css";

/** The runs that this one was made from, the oldest first, its own attempts, and the runs made from it. */
export function Lineage({ job }: { job: Job }) {
  const query = useQuery(lineageQuery(job.id));
  if (query.isLoadingError)
    return <ErrorNotice error={query.error} doing="load the lineage" onRetry={() => void query.refetch()} />;
  if (!query.data) return <Skeleton rows={2} height="2rem" label="Loading the lineage" />;
  const { ancestors, children } = query.data;
  return (
    <>
      <ol className={styles.lineage} aria-label="Origin">
        {ancestors.length === 0 && <li className={styles.edge}>Submitted as a new job</li>}
        {ancestors.toReversed().map((one, index) => (
          <li key={one.job}>
            <span className={styles.job}>
              <RunName job={one.job} name={one.name} deleted={one.status === null} />
              {one.status === null ? <small>deleted</small> : <StatusBadge status={one.status} />}
            </span>
            <span className={styles.edge}>
              {index === ancestors.length - 1 && job.parent ? <ParentText parent={job.parent} /> : one.text}
            </span>
          </li>
        ))}
        <li>
          <span className={`${styles.job} ${styles.present}`} aria-current="page">
            <b>{jobName(job)}</b>
            <StatusBadge status={job.status} />
            {job.attempt > 1 && <span>{count(job.attempt, "attempt")}: it was resumed or tried again</span>}
          </span>
        </li>
      </ol>
      {children.length > 0 && (
        <>
          <h3>Made from this run</h3>
          <ul className={styles.lineage} aria-label="Made from this run">
            {children.map((child) => (
              <li key={child.job}>
                <span className={styles.job}>
                  <RunName job={child.job} name={child.name} deleted={false} />
                  <StatusBadge status={child.status} />
                  <small>{madeText(child)}</small>
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

const RELATIONS: Record<JobChild["relation"], string> = {
  clone: "a clone",
  branch: "a branch",
  extend: "an extension",
  continue: "a continuation",
};

function madeText(child: JobChild): string {
  const place = placeText(child);
  return `${RELATIONS[child.relation]}${place && ` from ${place}`}`;
}
