import { loadable } from "@/components/loadable";
import { useQuery } from "@tanstack/react-query";
import { Suspense, useDeferredValue } from "react";
import { useParams } from "react-router";
import { Notice, PageError } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { Prose } from "@/components/text";
import { checkpointDownload, checkpointsQuery, goodOnes, jobQuery } from "@/features/jobs/api";
import { liveProgress } from "@/features/run/model/progress";
import { secondsPerStep } from "@/features/run/model/liveness";
import { headlineOfSeeds } from "@/features/run/model/seeds";
import { headline } from "@/features/run/model/stages";
import { useChosen } from "@/features/run/model/use-chosen";
import { useRun } from "@/features/run/model/use-run";
import { type Seeds, useSeeds } from "@/features/run/model/use-seeds";
import { Findings } from "@/features/run/ui/findings";
import { RunHeader } from "@/features/run/ui/run-header";
import { RunLine } from "@/features/run/ui/run-line";
import { RunTabs } from "@/features/run/ui/run-tabs";
import { StageStepper } from "@/features/run/ui/stage-stepper";
import { paths } from "@/lib/address";
import type { Job } from "@/lib/api/types";
import { useLabels, withLabels } from "@/lib/labels";
import type { Link } from "@/lib/live/protocol";
import { useLink } from "@/lib/live/use-live";
import { hasEnded, stageShort } from "@/lib/states";
import styles from "./run.module.css";

const SeedTable = loadable(async () => (await import("@/features/run/ui/seeds")).SeedTable);

/** Without a connection, or while the job waits: its place in the queue changes without an event. */
const POLL_MS = 5000;
const QUEUE_POLL_MS = 15_000;

export function RunPage() {
  const { jobId = "" } = useParams();
  // A page of its own per job: nothing of one run is ever shown under another's name.
  return <Run key={jobId} id={jobId} />;
}

function Run({ id }: { id: string }) {
  const link = useLink();
  const query = useQuery({ ...jobQuery(id), refetchInterval: ({ state }) => pollEvery(state.data?.status, link) });
  const job = query.data;
  const view = useRun(id, job !== undefined && hasEnded(job.status));
  const { stage, tab, chooseStage, addressOf } = useChosen(job);
  const seeds = useSeeds(job, view.run);
  // The head is shown before the tabs are rendered, so that a phone can paint and react between the two.
  const hasHead = useDeferredValue(job !== undefined, false);

  if (!job || !seeds) {
    if (!query.isError) return <RunSkeleton />;
    return (
      <PageError
        subject="Job"
        parent={{ to: paths.jobs, label: "Jobs" }}
        error={query.error}
        doing="show this job"
        onRetry={() => void query.refetch()}
      />
    );
  }
  const pulse = {
    link,
    ended: view.ended,
    isRunning: job.status === "running",
    heardAt: view.heardAt,
    secondsPerStep: secondsPerStep(job.progress),
  };
  const { stages } = seeds;
  return (
    <>
      <RunHeader job={job} pulse={pulse} log={view.run.log} />
      {job.status === "failed" && <Failure job={job} />}
      <StageStepper stages={stages} figuresOf={figuresOf(job, seeds)} chosen={stage} onChoose={chooseStage} />
      <div className={styles.line}>
        <RunLine job={job} progress={liveProgress(job.progress, view.run)} />
        <Findings job={job} log={view.run.log} loaded={view.loaded} />
      </div>
      {job.spec.seeds > 1 && (
        <Suspense fallback={null}>
          <SeedTable job={job} seeds={seeds} />
        </Suspense>
      )}
      {hasHead && <RunTabs job={job} view={view} seeds={seeds} stage={stage} tab={tab} addressOf={addressOf} />}
    </>
  );
}

/** The headline figures of a stage: of the one seed that is shown, or the means over all. */
function figuresOf(job: Job, { all, one }: Seeds) {
  const views = all.map(({ stages }) => stages);
  return (index: number) => {
    const view = one.stages[index];
    if (!view) return [];
    if (all.length < 2) return headline(view, one.run.series[view.stage] ?? {});
    const runs = all.map(({ seed, run, counts }) => ({ seed, series: run.series[view.stage] ?? {}, counts }));
    return headlineOfSeeds(index, runs, views, job.seeds_summary);
  };
}

/** Shown until the job is loaded. */
function RunSkeleton() {
  return (
    <div className={styles.skeleton} data-wide>
      <Skeleton rows={4} height="1.5rem" label="Loading the job" />
    </div>
  );
}

function pollEvery(status: string | undefined, link: Link): number | false {
  if (status !== undefined && hasEnded(status)) return false;
  if (link.state !== "live") return POLL_MS;
  return status === "queued" ? QUEUE_POLL_MS : false;
}

/** Why a job failed, and what it leaves. */
function Failure({ job }: { job: Job }) {
  const checkpoints = useQuery(checkpointsQuery(job.id));
  const last = goodOnes(checkpoints.data ?? [])[0];
  const labelOf = useLabels();
  return (
    <div style={{ marginBottom: "1rem" }}>
      <Notice tone="bad" title={job.stage ? `Failed in ${stageShort(job.stage)}` : "Failed"}>
        <p style={{ whiteSpace: "pre-wrap" }}>
          <Prose text={withLabels(job.error?.message ?? job.status_reason, job.stage, labelOf)} />
        </p>
        {last && (
          <p>
            Its last good checkpoint is kept: {stageShort(last.stage)} step {last.step},{" "}
            <a href={checkpointDownload(last.id)} download>
              download it
            </a>
            .
          </p>
        )}
        {checkpoints.data && !last && (
          <p>
            {checkpoints.data.length ? "All its checkpoints are damaged." : "It failed before its first checkpoint."}
          </p>
        )}
        {job.error && (
          <p>
            Error code: <code>{job.error.code}</code>
          </p>
        )}
      </Notice>
    </div>
  );
}
