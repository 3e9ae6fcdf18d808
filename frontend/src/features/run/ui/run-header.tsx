import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { Button, buttonClass } from "@/components/button";
import { ConfirmDialog } from "@/components/dialog";
import { Fact, Facts, PageHeader } from "@/components/page-header";
import { StatusBadge } from "@/components/status";
import { TimeAgo, useNow } from "@/components/text";
import { cancelJob, jobQuery, jobsKey } from "@/features/jobs/api";
import { liveness, type Pulse } from "@/features/run/model/liveness";
import { processesOf, seedsOf } from "@/features/run/model/spec";
import { paths } from "@/lib/address";
import type { Job, JobEvent } from "@/lib/api/types";
import { duration, secondsBetween } from "@/lib/format";
import { canCancel } from "@/lib/states";
import styles from "./run.module.css";

interface RunHeaderProps {
  job: Job;
  pulse: Pulse;
  log: readonly JobEvent[];
}

export function RunHeader({ job, pulse, log }: RunHeaderProps) {
  return (
    <PageHeader
      title={job.name || "Unnamed job"}
      documentTitle={`${job.name || "Unnamed job"} (${job.status})`}
      parent={{ to: paths.jobs, label: "Jobs" }}
      aside={<ConnectionState pulse={pulse} />}
      badge={<StatusBadge status={job.status} />}
      actions={
        <>
          {job.started_at && (
            <Link className={buttonClass()} to={paths.newRound({ job: job.id })}>
              Annotate its completions
            </Link>
          )}
          {canCancel(job.status) && <CancelButton job={job} />}
        </>
      }
    >
      {job.status !== "failed" && <p className={styles.reason}>{job.queue_reason ?? job.status_reason}</p>}
      <RunFacts job={job} log={log} />
    </PageHeader>
  );
}

function RunFacts({ job, log }: { job: Job; log: readonly JobEvent[] }) {
  const now = useNow();
  const started = log.filter((event) => event.type === "run_started").at(-1)?.data;
  const [first, last] = seedsOf(job.spec);
  const processes = processesOf(job.spec);
  const end = job.finished_at ? Date.parse(job.finished_at) : now;
  return (
    <Facts as="dl">
      <Fact name="Created">
        <TimeAgo time={job.created_at} />
      </Fact>
      {job.started_at && (
        <Fact name={job.finished_at ? "Took" : "Running for"}>{duration(secondsBetween(job.started_at, end))}</Fact>
      )}
      {job.attempt > 1 && <Fact name="Attempt">{job.attempt}</Fact>}
      <Fact name="Model">{job.spec.model.path ?? `new ${modelType(job)}`}</Fact>
      <Fact name={first === last ? "Seed" : "Seeds"}>{first === last ? first : `${first} to ${last}`}</Fact>
      {typeof started?.device === "string" && <Fact name="Device">{device(started.device, started.threads)}</Fact>}
      {processes && <Fact name="Processes">{processes}</Fact>}
      <Fact name="Id">
        <code>{job.id}</code>
      </Fact>
    </Facts>
  );
}

function modelType(job: Job): string {
  const type = job.spec.model.config?.model_type;
  return typeof type === "string" ? type : "model";
}

const device = (name: string, threads: unknown): string =>
  name === "cpu" && typeof threads === "number" ? `CPU, ${threads} ${threads === 1 ? "thread" : "threads"}` : name;

/** Whether the page is current: its connection, and when the run last reported anything. */
function ConnectionState({ pulse }: { pulse: Pulse }) {
  const { state, label, title } = liveness(pulse, useNow());
  return (
    <span className={`${styles.connection} ${styles[state]}`} role="status" title={title} data-connection={state}>
      {label}
    </span>
  );
}

function CancelButton({ job }: { job: Job }) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => cancelJob(job.id),
    onSuccess: (updated) => client.setQueryData(jobQuery(job.id).queryKey, updated),
    // A job that has just ended by itself refuses; what it has become is the answer.
    onError: () => void client.invalidateQueries({ queryKey: jobsKey }),
  });
  const confirm = () => {
    setAsking(false);
    cancel.mutate();
  };
  return (
    <>
      {cancel.error && (
        <span className={styles.error} role="alert">
          {cancel.error.message}
        </span>
      )}
      <Button look="danger" onClick={() => setAsking(true)} disabled={cancel.isPending}>
        {cancel.isPending ? "Cancelling…" : "Cancel job"}
      </Button>
      <ConfirmDialog
        open={asking}
        title="Cancel this job?"
        confirm="Cancel the job"
        keep="Keep it"
        onConfirm={confirm}
        onClose={() => setAsking(false)}
      >
        <p>
          {job.status === "queued"
            ? "It has not started yet."
            : "It stops after the current step. Its checkpoints stay, but a cancelled job cannot be resumed."}
        </p>
      </ConfirmDialog>
    </>
  );
}
