import { useMemo } from "react";
import { Notice } from "@/components/notice";
import { Segmented } from "@/components/segmented";
import { Skeleton } from "@/components/status";
import { shownStep, unitedSteps } from "@/features/compare/model/completions";
import type { Look } from "@/features/compare/model/differences";
import { type SampledRun, useSampledRuns, useShownStep } from "@/features/compare/model/use-completions";
import { CompletionColumns, Failures } from "@/features/compare/ui/completion-columns";
import { StepPicker } from "@/features/completions/ui";
import { useParameter } from "@/lib/address";
import type { Job } from "@/lib/api/types";
import { hasEnded, type Stage, STAGES, stageShort } from "@/lib/states";
import styles from "./compared-completions.module.css";

/** Each run is a column, and a request for each step. */
const MOST_RUNS = 12;

interface ComparedCompletionsProps {
  jobs: readonly Job[];
  lookOf: (id: string) => Look;
  /** The stage in the address. */
  stage: Stage | undefined;
  onStage: (stage: Stage) => void;
}

/** The completions of the runs at one step, beside each other by their prompts. */
export function ComparedCompletions({ jobs, lookOf, stage, onStage }: ComparedCompletionsProps) {
  const compared = useMemo(() => jobs.slice(0, MOST_RUNS), [jobs]);
  const runs = useSampledRuns(compared);
  if (!runs) return <Skeleton rows={5} height="3.5rem" label="Loading the steps" />;
  const stages = STAGES.filter((one) => runs.some(({ steps }) => steps[one]));
  const usual = stages.includes("ppo") ? "ppo" : stages.at(-1);
  const shown = stage && stages.includes(stage) ? stage : usual;
  return (
    <>
      {stages.length > 1 && shown && (
        <p className={styles.line}>
          <Segmented
            label="Stage"
            options={stages.map((one) => ({ id: one, label: stageShort(one) }))}
            value={shown}
            onChange={onStage}
          />
        </p>
      )}
      {jobs.length > MOST_RUNS && (
        <p className={styles.line}>
          These are the first {MOST_RUNS} of {jobs.length} runs. Remove runs above to see others.
        </p>
      )}
      {shown ? (
        <OfStage key={shown} runs={runs} stage={shown} lookOf={lookOf} />
      ) : (
        <>
          <Failures of={runs} />
          {runs.some(({ failure }) => !failure) && <NoCompletions jobs={compared} />}
        </>
      )}
    </>
  );
}

function NoCompletions({ jobs }: { jobs: readonly Job[] }) {
  const isWaiting = jobs.some(({ status }) => !hasEnded(status));
  return (
    <Notice title={isWaiting ? "No completions yet" : "No completions"}>
      <p>
        {isWaiting
          ? "They appear with the first step of a run that logs some."
          : "PPO and the evaluation write completions. These runs have logged none."}
      </p>
    </Notice>
  );
}

interface OfStageProps {
  runs: readonly SampledRun[];
  stage: Stage;
  lookOf: (id: string) => Look;
}

function OfStage({ runs, stage, lookOf }: OfStageProps) {
  const [named, setNamed] = useParameter("step");
  const wanted = named !== null && /^\d{1,15}$/.test(named) ? Number(named) : null;
  const steps = useMemo(() => unitedSteps(runs.map((run) => run.steps[stage] ?? [])), [runs, stage]);
  const chosen = (wanted === null ? steps.at(-1) : (shownStep(steps, wanted) ?? steps[0])) ?? 0;
  const { shown, isOld } = useShownStep(runs, stage, chosen);
  return (
    <>
      <div className={styles.picker}>
        <StepPicker
          steps={steps}
          step={chosen}
          chooser={{ place: { step: wanted }, choose: ({ step }) => setNamed(step === null ? null : String(step)) }}
        />
      </div>
      {shown ? (
        <CompletionColumns shown={shown} isOld={isOld} stage={stage} lookOf={lookOf} />
      ) : (
        <Skeleton rows={5} height="3.5rem" label="Loading completions" />
      )}
    </>
  );
}
