import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { buttonClass } from "@/components/button";
import { Note } from "@/components/card";
import { Skeleton } from "@/components/status";
import { TimeAgo } from "@/components/text";
import { canBranch, checkpointsQuery } from "@/features/jobs/api";
import { paths } from "@/lib/address";
import type { Checkpoint } from "@/lib/api/types";
import { percent } from "@/lib/format";
import { stageShort } from "@/lib/states";
import styles from "./actions.module.css";

/** The checkpoints of a job, each as the start of a new job that continues from it. */
export function BranchForm({ jobId }: { jobId: string }) {
  const checkpoints = useQuery(checkpointsQuery(jobId));
  if (checkpoints.error) return <p role="alert">{checkpoints.error.message}</p>;
  if (!checkpoints.data) return <Skeleton rows={4} label="Loading the checkpoints" />;
  const usable = checkpoints.data.filter(canBranch);
  if (!usable.length) return <Note>The job has no stored checkpoint yet. Clone it to start from the beginning.</Note>;
  return (
    <div className={styles.form}>
      <Note>
        The new job continues with the weights, the optimizer and the controllers of the checkpoint. You can change the
        spec before you submit it.
      </Note>
      <ul className={styles.checkpoints}>
        {usable.map((one) => (
          <li key={one.id}>
            <span>
              <b>
                {stageShort(one.stage)} {one.final ? "result" : `step ${one.step}`}
              </b>
              <small>{facts(one)}</small> <TimeAgo time={one.created_at} />
            </span>
            <Link className={buttonClass()} to={paths.newJob({ branch: jobId, checkpoint: one.id })}>
              Branch<span className="visually-hidden"> from {`${stageShort(one.stage)} step ${one.step}`}</span>
            </Link>
          </li>
        ))}
      </ul>
    </div>
  );
}

function facts({ final, step, best, seed, metrics }: Checkpoint): string {
  const rate = metrics["eval/win_rate"] ?? metrics.win_rate;
  return [
    final ? `step ${step}` : "",
    best ? "best evaluation" : "",
    rate === undefined ? "" : `win rate ${percent(rate)}`,
    seed === null ? "" : `seed ${seed}`,
  ]
    .filter(Boolean)
    .join(", ");
}
