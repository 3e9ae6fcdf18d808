import { type ReactNode } from "react";
import { Link } from "react-router";
import { Sparkline } from "@/charts/sparkline";
import { ProgressBar, StatusBadge } from "@/components/status";
import { RowLink } from "@/components/table";
import { NameValues, TimeAgo, useNow } from "@/components/text";
import { readChoice, writeChoice } from "@/features/jobs/model/choice";
import { JobHealth } from "@/features/jobs/ui/job-health";
import { type FixedColumn, klOf } from "@/features/jobs/model/columns";
import { paths, useAddress } from "@/lib/address";
import type { JobSummary } from "@/lib/api/types";
import { count, duration, hours, measured, NO_VALUE, percent, secondsBetween } from "@/lib/format";
import { jobName, sweepName } from "@/lib/names";
import { endedSeeds, spreadOf, spreadText } from "@/lib/seeds";
import { hasEnded, stageShort, statusTone } from "@/lib/states";
import health from "./job-health.module.css";
import styles from "./jobs.module.css";

/** Tags of a job that its row shows. Its page shows all of them. */
const MOST_TAGS = 4;

type Cell = (job: JobSummary) => ReactNode;

/** The cell of each column, and how the column looks. */
export const CELLS: Record<FixedColumn, { cell: Cell; className?: string | undefined; label?: string }> = {
  status: { cell: (job) => <StatusBadge status={job.status} />, className: styles.status },
  model: { cell: (job) => <Model path={job.model} name={job.model_name} />, className: styles.model, label: "Model" },
  progress: { cell: (job) => <JobProgress job={job} />, className: styles.progress },
  reward: {
    cell: (job) => <Reward job={job} />,
    className: styles.reward,
  },
  kl: { cell: (job) => <Kl job={job} />, label: "KL" },
  win_rate: { cell: (job) => <Figure job={job} name="win_rate" show={percent} />, label: "Win rate" },
  judge: { cell: (job) => <Figure job={job} name="judge_after" show={measured} />, label: "Judge" },
  health: { cell: (job) => <JobHealth job={job} />, className: health.cell },
  tags: { cell: (job) => (job.tags.length ? <Tags tags={job.tags} /> : null), className: styles.tags },
  group: { cell: (job) => <Group group={job.group} />, className: styles.above },
  created: { cell: (job) => <TimeAgo time={job.created_at} />, className: styles.time },
  ended: {
    cell: (job) => (job.finished_at ? <TimeAgo time={job.finished_at} /> : NO_VALUE),
    className: styles.time,
    label: "Ended",
  },
  duration: { cell: (job) => <Duration job={job} />, className: styles.time },
  gpu_hours: { cell: (job) => hours(job.gpu_hours), label: "GPU-hours" },
  submitted_by: { cell: (job) => job.submitted_by ?? NO_VALUE, label: "By" },
};

export function Name({ job }: { job: JobSummary }) {
  const { name, values } = sweepName(job, job.group?.values);
  return (
    <>
      <RowLink to={paths.job(job.id)}>
        <span className={styles.words} title={jobName(job)}>
          {name}
        </span>
        <NameValues values={values} />
      </RowLink>
      <code>{job.id}</code>
    </>
  );
}

/** A checkpoint in words, the last part of a path, or the name of a model of the hub without its owner. */
function Model({ path, name }: { path: string | null; name: string | null }) {
  if (!path) return "new model";
  if (name) return <span title={path}>{name}</span>;
  return <span title={path}>{path.replace(/\/+$/, "").split("/").at(-1) || path}</span>;
}

function Tags({ tags }: { tags: readonly string[] }) {
  const rest = tags.slice(MOST_TAGS);
  return (
    <>
      {tags.slice(0, MOST_TAGS).map((tag) => (
        <Tag key={tag} tag={tag} />
      ))}
      {rest.length > 0 && <small title={rest.join(", ")}>and {rest.length} more</small>}
    </>
  );
}

function Tag({ tag }: { tag: string }) {
  const [, change] = useAddress();
  const add = (before: URLSearchParams) => {
    const choice = readChoice(before);
    return writeChoice({ ...choice, tags: [...new Set([...choice.tags, tag])] });
  };
  return (
    <button type="button" className={styles.chip} title="Show the jobs with this tag" onClick={() => change(add)}>
      {tag}
    </button>
  );
}

function Group({ group }: Pick<JobSummary, "group">) {
  return group ? <Link to={paths.group(group.group_id)}>{`Run ${group.number}`}</Link> : NO_VALUE;
}

function Duration({ job }: { job: JobSummary }) {
  const now = useNow();
  if (!job.started_at) return NO_VALUE;
  const end = job.finished_at ? Date.parse(job.finished_at) : now;
  return duration(secondsBetween(job.started_at, end));
}

/** The score in the course of PPO; of several seeds the mean. */
function Reward({ job }: { job: JobSummary }) {
  const seeds = job.summary?.seeds ?? job.progress?.seed_count ?? 1;
  const of = seeds === 1 ? { label: "Reward in PPO" } : { label: "Mean reward in PPO", note: "mean" };
  const line = <Sparkline values={job.reward_sparkline} {...of} />;
  // A job that may still get a line keeps the place for it.
  return hasEnded(job.status) ? line : <span>{line}</span>;
}

/** The KL of the result; while a job runs, of its newest step, with the seed that runs. */
function Kl({ job }: { job: JobSummary }) {
  if (job.summary?.kl !== undefined) return <Figure job={job} name="kl" show={measured} />;
  const seed = job.progress?.seed ?? null;
  return <>{`${measured(klOf(job))}${seed === null ? "" : ` (seed ${seed})`}`}</>;
}

/** A figure of the result; of several seeds the mean with its interval. */
function Figure({ job, name, show }: { job: JobSummary; name: string; show: (value: number) => string }) {
  const spread = spreadOf(job.summary, name);
  if (!spread) return NO_VALUE;
  return (
    <>{job.summary?.seeds === undefined ? show(spread.mean) : spreadText(spread, endedSeeds(job.summary), show)}</>
  );
}

/** How far a job is; or why it waits, or why it failed. */
function JobProgress({ job }: { job: JobSummary }) {
  if (job.status === "queued" || job.queue_reason !== null)
    return <span className={styles.why}>{job.queue_reason ?? job.status_reason}</span>;
  if (job.status === "failed") return <span className={styles.why}>{job.error?.message ?? job.status_reason}</span>;
  const { progress } = job;
  if (!progress) return <span className={styles.why}>{job.status_reason}</span>;
  return (
    <div className={styles.bar}>
      <span>
        {job.status === "succeeded" ? <Outcome job={job} /> : <Where progress={progress} />}
        {!hasEnded(job.status) && progress.eta_seconds !== null && (
          <span className={styles.eta} title="In this stage">
            {duration(progress.eta_seconds)} left
          </span>
        )}
      </span>
      <ProgressBar fraction={progress.fraction} label={`Progress of ${job.name}`} tone={statusTone(job.status)} />
    </div>
  );
}

function Where({ progress }: { progress: NonNullable<JobSummary["progress"]> }) {
  const { seeds_done: done, seed_count: seeds } = progress;
  const seed = seeds > 1 ? `seed ${Math.min(done + 1, seeds)} of ${seeds}, ` : "";
  return (
    <>{`${seed}${stageShort(progress.stage)} ${progress.step} / ${progress.at_most ? "≤ " : ""}${progress.total_steps}`}</>
  );
}

function Outcome({ job }: { job: JobSummary }) {
  const rate = job.summary?.win_rate;
  if (typeof rate !== "number") return <>finished</>;
  const { seeds, collapsed_seeds: collapsed = 0 } = job.summary ?? {};
  const spread = spreadOf(job.summary, "win_rate");
  if (seeds === undefined || !spread) return <>win rate {percent(rate)}</>;
  const text = spreadText(spread, endedSeeds(job.summary), percent);
  return <>{`mean win rate ${text}${collapsed ? `, ${count(collapsed, "seed")} collapsed` : ""}`}</>;
}
