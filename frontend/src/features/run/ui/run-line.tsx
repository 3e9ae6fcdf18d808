import { Link } from "react-router";
import { ProgressBar } from "@/components/status";
import { Time, TimeAgo, useNow } from "@/components/text";
import { paths } from "@/lib/address";
import type { Job } from "@/lib/api/types";
import { clock, duration, percent } from "@/lib/format";
import { hasEnded, stageLabel, statusTone } from "@/lib/states";
import styles from "./run.module.css";

interface RunLineProps {
  job: Job;
  /** The progress that `liveProgress` computes from the series. */
  progress: Job["progress"];
}

/** States whose further words a phone leaves out. The panel below has the reason why a job waits. */
const BRIEF: readonly string[] = ["queued", "starting", "running", "succeeded"];

/** One line: where the job is and how long it takes, why it waits, or how it ended. */
export function RunLine({ job, progress }: RunLineProps) {
  const fraction = progress?.fraction ?? (job.status === "succeeded" ? 1 : 0);
  return (
    <section className={styles.progress} aria-label="Progress">
      <p className={BRIEF.includes(job.status) ? styles.brief : undefined}>
        <Where job={job} progress={progress} />
      </p>
      <ProgressBar fraction={fraction} label="Progress of the job" tone={statusTone(job.status)} />
    </section>
  );
}

function Where({ job, progress }: RunLineProps) {
  if (job.status === "queued" || job.queue_reason !== null) return <QueuePlace job={job} />;
  if (hasEnded(job.status)) return <Ending job={job} />;
  if (!progress || job.status !== "running") return <span>{job.status_reason}</span>;
  const { seeds_done: done, seed_count: seeds } = progress;
  return (
    <>
      <b>{stageLabel(progress.stage)}</b>
      <span>{`step ${progress.step} of ${progress.at_most ? "at most " : ""}${progress.total_steps}`}</span>
      {progress.seed !== null && (
        <span>{`seed ${progress.seed}, number ${Math.min(done + 1, seeds)} of ${seeds}`}</span>
      )}
      <span>{percent(progress.fraction)} of the job</span>
      {progress.eta_seconds !== null && <span>{duration(progress.eta_seconds)} left in this stage</span>}
      {progress.seeds_eta_seconds !== null && <span>{duration(progress.seeds_eta_seconds)} left for all seeds</span>}
    </>
  );
}

/** Place, reason and expected start of a job that waits. */
function QueuePlace({ job }: { job: Job }) {
  const { queue } = job;
  return (
    <>
      {queue && <b>{queue.position === 1 ? "Next in the queue" : `Number ${queue.position} in the queue`}</b>}
      {queue?.expected_start && <ExpectedStart time={queue.expected_start} />}
      <span>{queue?.reason ?? job.queue_reason ?? job.status_reason}</span>
      <Link to={paths.workers}>Workers</Link>
    </>
  );
}

function ExpectedStart({ time }: { time: string }) {
  const seconds = (Date.parse(time) - useNow()) / 1000;
  if (seconds < 60) return <span>expected to start within a minute</span>;
  return (
    <Time at={time}>
      expected to start at {clock(time).slice(0, 5)}, in {duration(Math.round(seconds / 60) * 60)}
    </Time>
  );
}

function Ending({ job }: { job: Job }) {
  return (
    <>
      {job.status !== "failed" && <span>{job.status_reason}</span>}
      {job.finished_at && (
        <span>
          Ended <TimeAgo time={job.finished_at} />
        </span>
      )}
    </>
  );
}
