import { CopyButton } from "@/components/copy-button";
import { submitCommand } from "@/features/run/model/curl";
import type { Job } from "@/lib/api/types";
import styles from "./files.module.css";

/** What the run is, every default filled in, and how to run it again. */
export function SpecTab({ job }: { job: Job }) {
  const json = JSON.stringify(job.spec, null, 2);
  return (
    <>
      <div className={styles.actions}>
        <p className={styles.lead}>The job's specification with every default filled in.</p>
        <CopyButton text={json} label="Copy JSON" />
        <CopyButton text={submitCommand(window.location.origin, job.spec)} label="Copy as curl" />
      </div>
      <pre className={styles.spec} tabIndex={0} aria-label="Resolved specification">
        {json}
      </pre>
    </>
  );
}
