import { Link } from "react-router";
import { buttonClass } from "@/components/button";
import { StatusBadge } from "@/components/status-badge";
import { TimeAgo } from "@/components/time-ago";
import { useNow } from "@/components/use-now";
import type { RunEvent } from "@/features/run/model/event";
import type { Connection } from "@/features/run/model/feed";
import { processesOf, seedsOf } from "@/features/run/model/spec";
import { CancelButton } from "@/features/run/ui/cancel-button";
import { ConnectionState } from "@/features/run/ui/connection-state";
import type { Job } from "@/lib/api/types";
import { duration, secondsBetween } from "@/lib/format";
import { paths } from "@/lib/paths";
import { canCancel } from "@/lib/status";
import styles from "./run-header.module.css";

interface Props {
  job: Job;
  connection: Connection;
  log: readonly RunEvent[];
}

export function RunHeader({ job, connection, log }: Props) {
  return (
    <header className={styles.header}>
      <div className={styles.above}>
        <nav aria-label="Breadcrumb">
          <Link to={paths.jobs}>Jobs</Link>
        </nav>
        <ConnectionState connection={connection} />
      </div>
      <div className={styles.title}>
        <h1>{job.name || "Unnamed job"}</h1>
        <StatusBadge status={job.status} />
        <div className={styles.action}>
          {job.started_at && (
            <Link className={buttonClass()} to={paths.newRound({ job: job.id })}>
              Annotate its completions
            </Link>
          )}
          {canCancel(job.status) && <CancelButton job={job} />}
        </div>
      </div>
      {job.status !== "failed" && <p className={styles.reason}>{job.queue_reason ?? job.status_reason}</p>}
      <Facts job={job} log={log} />
    </header>
  );
}

function Facts({ job, log }: { job: Job; log: readonly RunEvent[] }) {
  const now = useNow();
  const started = log.findLast((event) => event.type === "run_started")?.data;
  const [first, last] = seedsOf(job.spec);
  const processes = processesOf(job.spec);
  const end = job.finished_at ? Date.parse(job.finished_at) : now;
  return (
    <dl className={styles.facts}>
      <Fact name="Created">
        <TimeAgo time={job.created_at} />
      </Fact>
      {job.started_at && (
        <Fact name={job.finished_at ? "Took" : "Running for"}>{duration(secondsBetween(job.started_at, end))}</Fact>
      )}
      {job.attempt > 1 && <Fact name="Attempt">{job.attempt}</Fact>}
      <Fact name="Model">{job.spec.model.path ?? `new ${modelType(job)}`}</Fact>
      <Fact name={first === last ? "Seed" : "Seeds"}>{first === last ? first : `${first}–${last}`}</Fact>
      {typeof started?.device === "string" && <Fact name="Device">{device(started.device, started.threads)}</Fact>}
      {processes && <Fact name="Processes">{processes}</Fact>}
      <Fact name="Id">
        <code>{job.id}</code>
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function modelType(job: Job): string {
  const type = job.spec.model.config?.model_type;
  return typeof type === "string" ? type : "model";
}

const device = (name: string, threads: unknown): string =>
  name === "cpu" && typeof threads === "number" ? `CPU, ${threads} ${threads === 1 ? "thread" : "threads"}` : name;
