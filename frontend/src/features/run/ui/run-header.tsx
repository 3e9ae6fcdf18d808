import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { buttonClass } from "@/components/button";
import { CopyReadOnlyLink } from "@/components/copy-read-only-link";
import { Fact, Facts, useDocumentTitle } from "@/components/page-header";
import { StatusBadge } from "@/components/status";
import { TimeAgo, useNow } from "@/components/text";
import { JobActions } from "@/features/job-actions/ui";
import { checkpointsQuery, goodOnes } from "@/features/jobs/api";
import { liveness, type Pulse } from "@/features/run/model/liveness";
import { Origin } from "@/features/run/ui/origin";
import { POLICY_STAGES, processesOf, seedsOf } from "@/features/run/model/spec";
import { courseOf } from "@/features/run/model/stages";
import { paths } from "@/lib/address";
import type { Job, JobEvent } from "@/lib/api/types";
import { duration, secondsBetween } from "@/lib/format";
import { jobName } from "@/lib/names";
import { useReadOnly } from "@/lib/read-only";
import styles from "./run.module.css";

interface RunHeaderProps {
  job: Job;
  pulse: Pulse;
  log: readonly JobEvent[];
}

/** Name, state, connection and actions in one line; the facts and tags in the next. */
export function RunHeader({ job, pulse, log }: RunHeaderProps) {
  const name = jobName(job);
  const readOnly = useReadOnly();
  useDocumentTitle(`${name} (${job.status})`);
  return (
    <header className={styles.header} data-wide>
      <div className={styles.top}>
        <nav aria-label="Breadcrumb">
          <Link to={paths.jobs}>Jobs</Link>
        </nav>
        <h1 title={name}>{name}</h1>
        <span role="status" aria-label="State of the job">
          <StatusBadge status={job.status} />
        </span>
        <ConnectionState pulse={pulse} />
        <span className={styles.share}>
          <CopyReadOnlyLink />
        </span>
        <div className={styles.actions}>
          {!readOnly && <AnnotateLink jobId={job.id} log={log} />}
          {!readOnly && <JobActions job={job} />}
        </div>
      </div>
      <Origin job={job} />
      <RunFacts job={job} log={log} />
    </header>
  );
}

/** Shown while the run keeps a policy that is not damaged. */
function AnnotateLink({ jobId, log }: { jobId: string; log: readonly JobEvent[] }) {
  const hasSaved = log.some((event) => event.type === "checkpoint_saved" && isPolicyStage(event.stage));
  const kept = useQuery({ ...checkpointsQuery(jobId), enabled: hasSaved }).data;
  if (!hasSaved || (kept && !goodOnes(kept).some(({ stage }) => isPolicyStage(stage)))) return null;
  return (
    <Link
      className={buttonClass()}
      to={paths.newRound({ job: jobId })}
      aria-label="Annotate its completions"
      title="Annotate its completions"
    >
      Annotate
    </Link>
  );
}

function RunFacts({ job, log }: { job: Job; log: readonly JobEvent[] }) {
  const now = useNow();
  const started = log.filter((event) => event.type === "run_started").at(-1)?.data;
  const [first, last] = seedsOf(job.spec);
  const processes = processesOf(job.spec);
  const end = job.finished_at ? Date.parse(job.finished_at) : now;
  const [open, setOpen] = useState(false);
  return (
    <div className={`${styles.facts} ${open ? "" : styles.isShort}`}>
      <Facts as="dl">
        {job.tags.length > 0 && (
          <Fact name="Tags">
            {job.tags.map((tag) => (
              <span key={tag} className={styles.tag}>
                {tag}
              </span>
            ))}
          </Fact>
        )}
        <Fact name="Created">
          <TimeAgo time={job.created_at} />
        </Fact>
        {job.attempt > 1 && <Fact name="Attempt">{job.attempt}</Fact>}
        <Fact name="Model">
          <Model job={job} />
        </Fact>
        <Fact name={first === last ? "Seed" : "Seeds"}>{first === last ? first : `${first} to ${last}`}</Fact>
        {processes && <Fact name="Processes">{processes}</Fact>}
        <Fact name="Id">
          <code>{job.id}</code>
        </Fact>
        {/* Facts that come or change during the run stand at the end, so that they move nothing. */}
        {job.started_at && courseOf(job.status) === "paused" && (
          <Fact name="Started">
            <TimeAgo time={job.started_at} />
          </Fact>
        )}
        {job.started_at && courseOf(job.status) !== "paused" && (
          <Fact name={job.finished_at ? "Took" : "Running for"}>{duration(secondsBetween(job.started_at, end))}</Fact>
        )}
        {typeof started?.device === "string" && (
          <Fact name="Device" minor>
            {device(started.device, started.threads)}
          </Fact>
        )}
      </Facts>
      <button type="button" className={styles.more} aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Less" : "More"}
      </button>
    </div>
  );
}

const isPolicyStage = (stage: string | null): boolean => stage !== null && POLICY_STAGES.some((one) => one === stage);

/** The model by its name: a checkpoint by its run, as a link. */
function Model({ job }: { job: Job }) {
  const { path } = job.spec.model;
  const input = job.inputs.find(({ field }) => field === "model.path");
  if (!path) return `new ${modelType(job)}`;
  if (!input) return path;
  if (!input.job) return <span title={path}>a checkpoint that was deleted</span>;
  return (
    <Link to={`${paths.job(input.job)}?tab=checkpoints`} title={path}>
      {input.name}
    </Link>
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
