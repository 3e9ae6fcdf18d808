import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { buttonClass, CopyButton } from "@/components/button";
import { DownloadIcon } from "@/components/icons";
import { ErrorNotice, Notice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { TimeAgo } from "@/components/text";
import { canBranch, checkpointDownload, checkpointFile, checkpointsQuery } from "@/features/jobs/api";
import { paths } from "@/lib/address";
import type { Checkpoint, Job } from "@/lib/api/types";
import { bytes, number } from "@/lib/format";
import { useLabels } from "@/lib/labels";
import { useReadOnly } from "@/lib/read-only";
import { hasEnded, stageLabel } from "@/lib/states";
import styles from "./checkpoints.module.css";

export function CheckpointsTab({ job }: { job: Job }) {
  const ended = hasEnded(job.status);
  const query = useQuery(checkpointsQuery(job.id));
  if (query.isPending) return <Skeleton rows={3} height="3rem" label="Loading checkpoints" />;
  if (query.isLoadingError)
    return <ErrorNotice error={query.error} doing="load the checkpoints" onRetry={() => void query.refetch()} />;
  if (!query.data.length) {
    return (
      <Notice title={ended ? "No checkpoints" : "No checkpoints yet"}>
        <p>
          {ended
            ? "The job ended before it saved one."
            : "Each stage saves its model at its end. Some stages save more often."}
        </p>
      </Notice>
    );
  }
  return (
    <>
      <p className={styles.intro}>
        Each is a folder that <code>from_pretrained</code> loads: safetensors weights, configuration, tokenizer. A new
        job starts from one that it names by its id, for example as <code>model.path</code>. A branch continues the run
        from one, with settings that you may change.
      </p>
      <ul className={styles.list}>
        {query.data.map((checkpoint) => (
          <Row key={checkpoint.id} job={job.id} checkpoint={checkpoint} />
        ))}
      </ul>
    </>
  );
}

function Row({ job, checkpoint }: { job: string; checkpoint: Checkpoint }) {
  const labelOf = useLabels();
  const metrics = Object.entries(checkpoint.metrics);
  const readOnly = useReadOnly();
  return (
    <li>
      <div className={styles.what}>
        <p>
          <b>{stageLabel(checkpoint.stage)}</b>{" "}
          {checkpoint.seed !== null && <span className={styles.interim}>seed {checkpoint.seed} </span>}
          {checkpoint.best && <span className={styles.final}>best so far</span>}
          {checkpoint.final && <span className={styles.final}>final</span>}
          {!checkpoint.final && !checkpoint.best && !checkpoint.damage && (
            <span className={styles.interim}>to resume from</span>
          )}
          {checkpoint.damage && <span className={styles.damaged}>damaged, never used</span>}
        </p>
        {checkpoint.damage && (
          <p className={styles.meta}>
            {checkpoint.damage}.{" "}
            {checkpoint.damaged_at && (
              <>
                Found <TimeAgo time={checkpoint.damaged_at} />.
              </>
            )}
          </p>
        )}
        {!checkpoint.damage && !checkpoint.can_branch && (
          <p className={styles.meta}>
            It holds the model without the state of its run, so no branch starts from it. A new job can start from it as{" "}
            <code>model.path</code>.
          </p>
        )}
        <p className={styles.meta}>
          step {checkpoint.step} · {bytes(checkpoint.bytes)} · <TimeAgo time={checkpoint.created_at} />
          {checkpoint.best && metrics.length > 0 && " · when it was chosen"}
          {metrics.map(([name, value]) => (
            <span key={name} title={name}>
              {" "}
              · {labelOf(checkpoint.stage, name)} {number(value)}
            </span>
          ))}
        </p>
        <details>
          <summary>{checkpoint.files.length} files</summary>
          <ul className={styles.files}>
            {checkpoint.files.map((file) => (
              <li key={file.path}>
                {checkpoint.damage ? (
                  <span title={`SHA-256 ${file.sha256}`}>{file.path}</span>
                ) : (
                  <a href={checkpointFile(checkpoint.id, file.path)} download title={`SHA-256 ${file.sha256}`}>
                    {file.path}
                  </a>
                )}
                <span>{bytes(file.bytes)}</span>
              </li>
            ))}
          </ul>
        </details>
      </div>
      {!readOnly && canBranch(checkpoint) && (
        <Link
          className={buttonClass()}
          to={paths.newJob({ branch: job, checkpoint: checkpoint.id })}
          aria-label={`Branch from ${named(checkpoint)}`}
        >
          Branch
        </Link>
      )}
      <CopyButton text={checkpoint.id} label="Copy id" of={named(checkpoint)} />
      {!checkpoint.damage && (
        <a
          className={buttonClass()}
          href={checkpointDownload(checkpoint.id)}
          download
          aria-label={`Download ${named(checkpoint)}`}
        >
          <DownloadIcon /> Download
        </a>
      )}
    </li>
  );
}

/** So that no two of a job are called the same. */
function named({ stage, step, final, best, seed }: Checkpoint): string {
  const kind = final ? "final " : best ? "best " : "";
  return `the ${kind}${stageLabel(stage)} checkpoint of step ${step}${seed === null ? "" : `, seed ${seed}`}`;
}
