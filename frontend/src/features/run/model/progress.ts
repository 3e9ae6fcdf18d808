import { placeKey, type RunState } from "@/features/run/model/state";
import type { Job } from "@/lib/api/types";

type Progress = NonNullable<Job["progress"]>;

/**
 * The progress of a job, as far as its charts are. The job is fetched every few seconds, and its events arrive at once. So the
 * newest step of the stage is that of the series; the share of the job and the remaining time follow it.
 */
export function liveProgress(progress: Job["progress"], run: RunState): Job["progress"] {
  if (!progress) return null;
  const step = newestStep(run, progress);
  if (step <= progress.step || progress.step >= progress.total_steps) return progress;
  return { ...progress, step, ...ahead(progress, step) };
}

/** The last step of the stage that any metric has reported; a run evaluates step 0 before its first. */
function newestStep(run: RunState, { stage, seed, total_steps: total }: Progress): number {
  const series = run.series[placeKey(seed, stage)] ?? {};
  const last = Object.values(series).map(({ steps }) => steps.at(-1) ?? 0);
  return Math.min(total, Math.max(0, ...last));
}

/** The share and the remaining time at a later step. In the stage, both change evenly with the steps. */
function ahead(progress: Progress, step: number): Partial<Progress> {
  const { step: before, total_steps: total, fraction, step_fraction: share, eta_seconds: eta } = progress;
  return {
    fraction: Math.min(1, fraction + share * (step - before)),
    eta_seconds: eta === null ? null : (eta * (total - step)) / (total - before),
  };
}
