import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import { ErrorNotice } from "@/components/error-notice";
import { useDocumentTitle } from "@/components/page-title";
import { Skeleton } from "@/components/skeleton";
import { jobQuery } from "@/features/jobs/api";
import { stagesOf } from "@/features/run/model/spec";
import { stageViews } from "@/features/run/model/stages";
import { Failure } from "@/features/run/ui/failure";
import { Findings } from "@/features/run/ui/findings/findings";
import { RunHeader } from "@/features/run/ui/run-header";
import { RunProgress } from "@/features/run/ui/run-progress";
import { RunTabs } from "@/features/run/ui/run-tabs";
import { Seeds } from "@/features/run/ui/seeds/seeds";
import { StageStepper } from "@/features/run/ui/stages/stage-stepper";
import { useChosen } from "@/features/run/ui/use-chosen";
import { useRun } from "@/features/run/ui/use-run";
import { hasEnded } from "@/lib/status";

const POLL_MS = 2500;

export function RunPage() {
  const { jobId = "" } = useParams();
  // A page of its own per job: nothing of one run is ever shown under another's name.
  return <Run key={jobId} id={jobId} />;
}

function Run({ id }: { id: string }) {
  const query = useQuery({
    ...jobQuery(id),
    refetchInterval: ({ state }) => (state.data && hasEnded(state.data.status) ? false : POLL_MS),
  });
  const view = useRun(id);
  const job = query.data;
  const { stage, tab, chooseStage, chooseTab } = useChosen(job);
  useDocumentTitle(job ? `${job.name || "Unnamed job"} (${job.status})` : "Job");

  if (!job) {
    if (!query.isError) return <Skeleton rows={8} height="2.25rem" label="Loading the job" />;
    return <ErrorNotice error={query.error} doing="show this job" onRetry={() => void query.refetch()} />;
  }
  const stages = stageViews(view.run.log, stagesOf(job.spec), job.stage, hasEnded(job.status));
  return (
    <>
      <RunHeader job={job} connection={view.connection} log={view.run.log} />
      {job.status === "failed" && <Failure job={job} />}
      <RunProgress job={job} />
      <StageStepper stages={stages} series={view.run.series} chosen={stage} onChoose={chooseStage} />
      <Findings log={view.run.log} />
      <Seeds job={job} log={view.run.log} />
      <RunTabs job={job} view={view} stages={stages} stage={stage} tab={tab} onTab={chooseTab} />
    </>
  );
}
