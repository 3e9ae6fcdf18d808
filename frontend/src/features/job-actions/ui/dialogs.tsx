import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { Link, useNavigate } from "react-router";
import { Note } from "@/components/card";
import { ConfirmDialog, Dialog } from "@/components/dialog";
import { Skeleton } from "@/components/status";
import { Prose } from "@/components/text";
import { toast } from "@/components/toast";
import { cancelJob, deleteJob } from "@/features/job-actions/api";
import type { ActionDialogProps } from "@/features/job-actions/ui/action-dialog";
import { BranchForm } from "@/features/job-actions/ui/branch-form";
import { EditForm } from "@/features/job-actions/ui/edit-form";
import { ExtendForm } from "@/features/job-actions/ui/extend-form";
import { KnobPanel } from "@/features/job-actions/ui/knob-panel";
import { useStored } from "@/features/job-actions/ui/use-actions";
import { checkpointsQuery, jobQuery, jobsKey } from "@/features/jobs/api";
import { paths } from "@/lib/address";
import { ApiError } from "@/lib/api/client";
import type { Job, JobSummary } from "@/lib/api/types";
import { bytes, count } from "@/lib/format";
import styles from "./actions.module.css";

export function JobDialog(props: ActionDialogProps) {
  const { action, job, onClose } = props;
  switch (action) {
    case "cancel":
      return <CancelDialog {...props} />;
    case "delete":
      return <DeleteDialog {...props} />;
    case "command":
      return (
        <Dialog open title="Live settings" onClose={onClose}>
          <KnobPanel jobId={job.id} />
        </Dialog>
      );
    case "branch":
      return (
        <Dialog open title="Branch from a checkpoint" onClose={onClose}>
          <BranchForm jobId={job.id} />
        </Dialog>
      );
    case "extend":
      return (
        <Dialog open title="Extend by PPO steps" onClose={onClose}>
          <WithSpec job={job}>{(whole) => <ExtendForm job={whole} onClose={onClose} />}</WithSpec>
        </Dialog>
      );
    case "edit":
      return (
        <Dialog open title="Edit name, tags and notes" onClose={onClose}>
          <WithSpec job={job}>{(whole) => <EditForm job={whole} onClose={onClose} />}</WithSpec>
        </Dialog>
      );
  }
}

/** A list has no specs and notes, so the whole job is fetched first. */
function WithSpec({ job, children }: { job: JobSummary; children: (job: Job) => React.ReactNode }) {
  const query = useQuery(jobQuery(job.id));
  if (query.data) return children(query.data);
  return query.error ? <p role="alert">{query.error.message}</p> : <Skeleton rows={3} />;
}

function CancelDialog({ job, onClose }: ActionDialogProps) {
  const store = useStored();
  const cancel = useMutation({
    mutationFn: () => cancelJob(job.id),
    onSuccess: (updated) => {
      store(updated);
      toast(updated.status === "cancelled" ? "The job is cancelled." : "The job stops after its present step.");
      onClose();
    },
  });
  return (
    <ConfirmDialog
      open
      title="Cancel this job?"
      confirm="Cancel the job"
      keep="Keep it"
      disabled={cancel.isPending}
      onConfirm={() => cancel.mutate()}
      onClose={onClose}
    >
      <p>
        {job.status === "queued"
          ? "It has not started yet."
          : "It stops after the current step and keeps its checkpoints. A retry continues from the last one."}
      </p>
      <Refusal error={cancel.error} />
    </ConfirmDialog>
  );
}

function DeleteDialog({ job, onClose, onDeleted }: ActionDialogProps) {
  const [typed, setTyped] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const checkpoints = useQuery(checkpointsQuery(job.id));
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => deleteJob(job.id),
    onSuccess: async () => {
      onClose();
      if (onDeleted) onDeleted();
      else if (window.location.pathname === paths.job(job.id)) await navigate(paths.jobs);
      client.removeQueries({ queryKey: jobQuery(job.id).queryKey });
      void client.invalidateQueries({ queryKey: jobsKey });
      toast(`${job.name || "The job"} is deleted.`);
    },
  });
  const wanted = job.name || job.id;
  const kept = checkpoints.data ?? [];
  const size = kept.reduce((sum, one) => sum + one.bytes, 0);
  return (
    <ConfirmDialog
      open
      title="Delete this job?"
      confirm="Delete it"
      keep="Keep it"
      disabled={typed.trim() !== wanted || remove.isPending}
      initialFocus={input}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <div className={styles.form}>
        <Note>
          Its metrics, completions, events and logs
          {kept.length > 0 && ` and ${count(kept.length, "checkpoint")} (${bytes(size)})`} are deleted permanently. An
          archived job keeps them.
        </Note>
        <label className={styles.field}>
          <span>
            Type <b>{wanted}</b> to confirm
          </span>
          <input
            ref={input}
            type="text"
            value={typed}
            autoComplete="off"
            spellCheck={false}
            onChange={(event) => setTyped(event.target.value)}
          />
        </label>
        <Refusal error={remove.error} />
      </div>
    </ConfirmDialog>
  );
}

/** Why the server refused, with links to the jobs and rounds that it names. */
export function Refusal({ error }: { error: Error | null }) {
  if (!error) return null;
  const body: Readonly<Record<string, unknown>> = error instanceof ApiError ? error.body : {};
  return (
    <div className={styles.refusal} role="alert">
      <p>
        <Prose text={error.message} />
      </p>
      {idsOf(body.jobs).map((id) => (
        <Link key={id} to={paths.job(id)}>
          {id}
        </Link>
      ))}
      {idsOf(body.rounds).map((id) => (
        <Link key={id} to={paths.round(id)}>
          {id}
        </Link>
      ))}
    </div>
  );
}

const idsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((id): id is string => typeof id === "string") : [];
