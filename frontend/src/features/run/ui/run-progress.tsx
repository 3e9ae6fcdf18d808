import { ProgressBar } from "@/components/progress-bar";
import type { Job } from "@/lib/api/types";
import { duration, percent } from "@/lib/format";
import { stageLabel } from "@/lib/stages";
import { hasEnded, statusTone } from "@/lib/status";
import styles from "./run.module.css";

/** Where an unfinished job is, and how long its stage will take. */
export function RunProgress({ job }: { job: Job }) {
  const { progress } = job;
  if (!progress || hasEnded(job.status)) return null;
  return (
    <section className={styles.progress} aria-label="Progress">
      <p>
        {progress.seeds_done > 0 ? (
          <b>
            Seed {progress.seeds_done + 1} of {progress.seed_count}
          </b>
        ) : (
          <>
            <b>{stageLabel(progress.stage)}</b>
            <span>
              step {progress.step} of {progress.total_steps}
            </span>
            {progress.seed_count > 1 && <span>seed 1 of {progress.seed_count}</span>}
          </>
        )}
        {progress.eta_seconds !== null && <span>{duration(progress.eta_seconds)} left in this stage</span>}
        <span className={styles.percent}>{percent(progress.fraction)} of the job</span>
      </p>
      <ProgressBar fraction={progress.fraction} label="Progress of the job" tone={statusTone(job.status)} />
    </section>
  );
}
