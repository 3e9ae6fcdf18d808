import { Link } from "react-router";
import { buttonClass } from "@/components/button";
import { Note } from "@/components/card";
import { DownloadIcon } from "@/components/icons";
import { Notice } from "@/components/notice";
import { Prose } from "@/components/text";
import { findingText, overOptimisation } from "@/features/completions/model/frontier";
import { checkpointDownload } from "@/features/jobs/api";
import { paths } from "@/lib/address";
import type { Checkpoint } from "@/lib/api/types";
import { type BestCheckpoint as Best, bestCheckpointText } from "@/lib/best-checkpoint";
import type { Evaluation } from "@/lib/evaluations";
import { useReadOnly } from "@/lib/read-only";
import styles from "./over-optimisation.module.css";

interface VerdictProps {
  points: readonly Evaluation[];
  judged: boolean;
  /** The step of the best checkpoint. */
  best: number | null;
}

/** Whether the evaluations show over-optimisation, in a sentence. */
export function Verdict({ points, judged, best }: VerdictProps) {
  const finding = overOptimisation(points, judged);
  if (finding)
    return (
      <Notice tone="warn" title="The policy is over-optimised">
        <p>
          <Prose text={findingText(finding, best)} />
        </p>
      </Notice>
    );
  const text = judged
    ? "These evaluations show no over-optimisation: the judge has not fallen while the score rose."
    : "Without a judge, over-optimisation cannot be seen here: score and win rate both come from the rewards that PPO maximises. Set `evaluation.judge`.";
  return (
    <Note>
      <Prose text={text} />
    </Note>
  );
}

interface BestCheckpointProps {
  jobId: string;
  best: Best;
  /** Its checkpoint; undefined where it was not kept. */
  checkpoint: Checkpoint | undefined;
  /** A checkpoint of that step from which a run can continue. */
  resumable: Checkpoint | undefined;
}

/** Names the best checkpoint, with the ways to use it. Without the state of the run a new job starts from its weights. */
export function BestCheckpoint({ jobId, best, checkpoint, resumable }: BestCheckpointProps) {
  const readOnly = useReadOnly();
  return (
    <p className={styles.best}>
      <span>{bestCheckpointText(best)}</span>
      {!readOnly && resumable && (
        <Link className={buttonClass()} to={paths.newJob({ branch: jobId, checkpoint: resumable.id })}>
          Branch from it
        </Link>
      )}
      {!readOnly && !resumable && checkpoint && (
        <Link className={buttonClass()} to={paths.newJob({ set: JSON.stringify({ "model.path": checkpoint.id }) })}>
          New job from its weights
        </Link>
      )}
      {checkpoint ? (
        <a
          className={buttonClass()}
          href={checkpointDownload(checkpoint.id)}
          download
          aria-label={`Download the best checkpoint, of step ${best.step}`}
        >
          <DownloadIcon />
          Download
        </a>
      ) : (
        <span className={styles.quiet}>Its weights were not kept.</span>
      )}
    </p>
  );
}
