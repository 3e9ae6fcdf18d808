import type { ReactNode } from "react";
import { Link } from "react-router";
import { childrenText, originText } from "@/features/run/model/origin";
import { paths } from "@/lib/address";
import type { Job, JobParent } from "@/lib/api/types";
import { visible } from "@/lib/visible";
import styles from "./run.module.css";

/** The run that a job was made from, and how many were made from it, in one line. Nothing for a job with neither. */
export function Origin({ job }: { job: Job }) {
  const made = childrenText(job.children);
  if (!job.parent && !made) return null;
  return (
    <p className={styles.origin}>
      {job.parent && (
        <span>
          <ParentText parent={job.parent} />
        </span>
      )}
      {made && <Link to={{ search: "?tab=about" }}>{made}</Link>}
    </p>
  );
}

/** The origin as a phrase with links to the run and the round. */
export function ParentText({ parent }: { parent: JobParent }) {
  const [before, after] = originText(parent);
  return (
    <>
      {before} <RunName job={parent.job} name={parent.name} deleted={parent.deleted} />
      {after}
      {parent.round && (
        <>
          {" "}
          <Link to={paths.round(parent.round)}>{visible(parent.round_name ?? "") || "a round"}</Link>
        </>
      )}
    </>
  );
}

interface RunNameProps {
  job: string;
  name: string | null;
  deleted: boolean;
}

/** A run by its name, as a link; a deleted one as text. Its id shows on hover. */
export function RunName({ job, name, deleted }: RunNameProps): ReactNode {
  const shown = visible(name ?? "") || (deleted ? "a run that was deleted" : "a run without a name");
  if (deleted) return <span title={job}>{shown}</span>;
  return (
    <Link to={paths.job(job)} title={job}>
      {shown}
    </Link>
  );
}
