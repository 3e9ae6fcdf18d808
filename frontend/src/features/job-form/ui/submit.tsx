import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { useNavigate } from "react-router";
import { Button } from "@/components/button";
import { ConfirmDialog } from "@/components/dialog";
import { Prose } from "@/components/text";
import { toast } from "@/components/toast";
import { branchJob, cloneJob, createJob, createSweep, type Sweep } from "@/features/job-form/api";
import { discardDraft } from "@/features/job-form/model/draft";
import type { Start } from "@/features/job-form/model/origin";
import { type Problem, problemsOf, refusalText } from "@/features/job-form/model/problems";
import { canonical, type JsonObject } from "@/features/job-form/model/spec";
import { PRIORITIES, type Queueing } from "@/features/job-form/model/submission";
import { useForm } from "@/features/job-form/ui/form-context";
import type { Check } from "@/features/job-form/ui/use-check";
import { jobsKey } from "@/features/jobs/api";
import { paths } from "@/lib/address";
import { ApiError } from "@/lib/api/client";
import { count } from "@/lib/format";
import styles from "./form.module.css";

interface SubmitProps {
  check: Check;
  start: Start;
  spec: JsonObject;
  patch: JsonObject;
  sweep: Sweep | null;
  isSweep: boolean;
  /** Number of jobs of the sweep. */
  jobs: number | null;
  queueing: Queueing;
  onQueueing: (queueing: Queueing) => void;
  /** The user tried to submit a spec without the parts that every job has. */
  onIncomplete: () => void;
  /** The server refused the spec, with problems of its fields. */
  onRefused: (problems: readonly Problem[]) => void;
}

/** Sends the job, the clone, the branch or the sweep. Blocking findings need a second, explicit decision. */
export function Submit({ check, start, spec, patch, sweep, isSweep, jobs, ...rest }: SubmitProps) {
  const { queueing, onQueueing, onIncomplete, onRefused } = rest;
  const { reveal } = useForm();
  const [asking, setAsking] = useState(false);
  const navigate = useNavigate();
  const client = useQueryClient();
  const key = useKey(canonical({ spec, queueing: { ...queueing }, sweep: sweep ? JSON.stringify(sweep) : "" }));
  const send = useMutation({
    mutationFn: async (force: boolean) => {
      const { job, checkpoint } = start;
      if (isSweep && sweep) return paths.group((await createSweep(sweep, queueing, key())).id);
      if (job && checkpoint) return paths.job((await branchJob(job.id, checkpoint.id, patch, force, key())).id);
      if (job) return paths.job((await cloneJob(job.id, patch, force, key())).id);
      return paths.job((await createJob(spec, queueing, force, key())).id);
    },
    onSuccess: async (address) => {
      if (!start.job) discardDraft();
      void client.invalidateQueries({ queryKey: jobsKey });
      toast(isSweep ? `The sweep of ${count(jobs ?? 0, "job")} is submitted.` : "The job is submitted.");
      await navigate(address);
    },
    onError: (error) => {
      if (error instanceof ApiError && error.body.code === "blocked_by_validation") setAsking(true);
      else onRefused(problemsOf(error).filter(({ path }) => path));
    },
  });
  const [firstMissing] = check.missing;
  const [firstUnreadable] = check.unreadable;
  const isIncomplete = isSweep && sweep === null && !firstMissing && !firstUnreadable;
  const submit = () => {
    if (firstUnreadable) reveal(firstUnreadable.path);
    else if (firstMissing) {
      onIncomplete();
      reveal(firstMissing.path);
    } else if (check.isBlocked) setAsking(true);
    else send.mutate(false);
  };
  const label = isSweep
    ? `Submit ${count(jobs ?? 0, "job")}`
    : start.checkpoint
      ? "Submit the branch"
      : "Submit the job";
  return (
    <>
      {send.error && (
        <p className={styles.blocking} role="alert">
          <Prose text={refusalText(send.error)} />
        </p>
      )}
      {(!start.job || isSweep) && <QueueFields queueing={queueing} onChange={onQueueing} />}
      <Button look="primary" disabled={send.isPending || isIncomplete} onClick={submit}>
        {send.isPending ? "Submitting…" : label}
      </Button>
      <ConfirmDialog
        open={asking}
        title="Submit a job that would fail?"
        confirm="Submit anyway"
        keep="Change the job"
        onConfirm={() => {
          setAsking(false);
          send.mutate(true);
        }}
        onClose={() => setAsking(false)}
      >
        <p>The check has blocking findings. The run would probably fail where they say.</p>
      </ConfirmDialog>
    </>
  );
}

function QueueFields({ queueing, onChange }: { queueing: Queueing; onChange: (queueing: Queueing) => void }) {
  return (
    <div className={styles.queueing}>
      <label>
        Priority
        <select
          value={queueing.priority}
          onChange={(event) => onChange({ ...queueing, priority: event.target.value as Queueing["priority"] })}
        >
          {PRIORITIES.map((priority) => (
            <option key={priority}>{priority}</option>
          ))}
        </select>
      </label>
      <label title="It continues from its last state when a worker is free.">
        <input
          type="checkbox"
          checked={queueing.preemptible}
          onChange={(event) => onChange({ ...queueing, preemptible: event.target.checked })}
        />
        May be paused for a more urgent job
      </label>
    </div>
  );
}

/** A key for each content: a second click, or a try after a lost answer, makes no second job. */
function useKey(content: string): () => string {
  const last = useRef({ content: "", key: "" });
  return () => {
    if (last.current.content !== content) last.current = { content, key: randomKey() };
    return last.current.key;
  };
}

/** `randomUUID` exists on https and localhost only. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `form-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
