import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/components/button";
import { ErrorNotice, Notice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { samplesQuery } from "@/features/run/api";
import { hasJudge, sidesOf } from "@/features/run/model/spec";
import { type RunState, sampleKey } from "@/features/run/model/state";
import { CompletionTable } from "@/features/run/ui/completion-table";
import { SideBySide } from "@/features/run/ui/side-by-side";
import type { Job, Sample } from "@/lib/api/types";
import { type Stage, stageShort } from "@/lib/states";
import styles from "./completions.module.css";

interface CompletionsTabProps {
  job: Job;
  run: RunState;
  stage: Stage;
  waiting: boolean;
}

export function CompletionsTab({ job, run, stage, waiting }: CompletionsTabProps) {
  const steps = run.sampleSteps[stage] ?? [];
  const [chosen, setChosen] = useState<number | null>(null);
  const step = chosen ?? steps.at(-1);
  if (step === undefined) return <NoCompletions stage={stage} waiting={waiting} />;
  return (
    <>
      {stage !== "evaluation" && <StepPicker steps={steps} chosen={chosen} onChoose={setChosen} />}
      <Step job={job} stage={stage} step={step} live={run.samples[sampleKey(stage, step)]} />
    </>
  );
}

interface StepProps {
  job: Job;
  stage: Stage;
  step: number;
  live: readonly Sample[] | undefined;
}

/** Completions of one step: those received live, or else fetched. */
function Step({ job, stage, step, live }: StepProps) {
  const query = useQuery({ ...samplesQuery(job.id, stage, step), enabled: live === undefined });
  const rows = live ?? query.data;
  if (!rows) {
    if (query.isError)
      return <ErrorNotice error={query.error} doing="load these completions" onRetry={() => void query.refetch()} />;
    return <Skeleton rows={5} height="3.5rem" label="Loading completions" />;
  }
  if (stage !== "evaluation") return <CompletionTable rows={rows} />;
  return <SideBySide rows={rows} sides={sidesOf(job.spec)} judged={hasJudge(job.spec)} />;
}

function NoCompletions({ stage, waiting }: { stage: Stage; waiting: boolean }) {
  const samples = stage === "ppo" || stage === "evaluation";
  return (
    <Notice title={samples && waiting ? "No completions yet" : `${stageShort(stage)} has no completions`}>
      <p>
        {samples
          ? waiting
            ? "They appear with the first step that logs some."
            : "The job ended before any were logged."
          : "This stage learns from given texts and writes none. PPO and the evaluation do."}
      </p>
    </Notice>
  );
}

interface StepPickerProps {
  steps: readonly number[];
  /** Null follows the newest. */
  chosen: number | null;
  onChoose: (step: number | null) => void;
}

function StepPicker({ steps, chosen, onChoose }: StepPickerProps) {
  const last = steps.length - 1;
  const index = chosen === null ? last : Math.max(0, steps.indexOf(chosen));
  const go = (to: number) => onChoose(steps[Math.min(last, Math.max(0, to))] ?? null);
  return (
    <div className={styles.picker}>
      <Button onClick={() => go(index - 1)} disabled={index <= 0} aria-label="Earlier step">
        ←
      </Button>
      <input
        type="range"
        min={0}
        max={last}
        value={index}
        aria-label="Step"
        aria-valuetext={`step ${steps[index]}`}
        onChange={(event) => go(event.target.valueAsNumber)}
      />
      <Button onClick={() => go(index + 1)} disabled={index >= last} aria-label="Later step">
        →
      </Button>
      <output>step {steps[index]}</output>
      <label>
        <input
          type="checkbox"
          checked={chosen === null}
          onChange={(event) => onChoose(event.target.checked ? null : (steps[index] ?? null))}
        />
        follow the newest
      </label>
    </div>
  );
}
