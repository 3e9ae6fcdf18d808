import { ErrorNotice } from "@/components/error-notice";
import { Skeleton } from "@/components/skeleton";
import { type Tab, Tabs } from "@/components/tabs";
import { reportCard } from "@/features/run/model/report-card";
import type { StageView } from "@/features/run/model/stages";
import type { RunView } from "@/features/run/model/store";
import { ChartsTab } from "@/features/run/ui/charts/charts-tab";
import { CompletionsTab } from "@/features/run/ui/completions/completions-tab";
import { CheckpointsTab } from "@/features/run/ui/files/checkpoints-tab";
import { SpecTab } from "@/features/run/ui/files/spec-tab";
import { EventsTab } from "@/features/run/ui/log/events-tab";
import { ReportCardTable } from "@/features/run/ui/report-card/report-card-table";
import { ResultsTab } from "@/features/run/ui/results/results-tab";
import type { TabId } from "@/features/run/ui/use-chosen";
import type { Job } from "@/lib/api/types";
import type { Stage } from "@/lib/stages";
import styles from "./run.module.css";

interface Props {
  job: Job;
  view: RunView;
  stages: readonly StageView[];
  stage: Stage;
  tab: TabId;
  onTab: (tab: TabId) => void;
}

export function RunTabs(props: Props) {
  const { stage, tab, onTab } = props;
  const tabs: Tab<TabId>[] = [
    { id: "metrics", label: stage === "evaluation" ? "Result" : "Metrics" },
    { id: "completions", label: "Completions" },
    { id: "events", label: "Events" },
    { id: "checkpoints", label: "Checkpoints" },
    { id: "spec", label: "Spec" },
  ];
  return (
    <>
      <Tabs tabs={tabs} value={tab} onChange={onTab} label="Views of this job" />
      <div role="tabpanel" aria-label={tab} className={styles.panel}>
        <Panel {...props} />
      </div>
    </>
  );
}

function Panel({ job, view, stages, stage, tab }: Props) {
  if (tab === "spec") return <SpecTab job={job} />;
  if (tab === "checkpoints") return <CheckpointsTab job={job} />;
  if (!view.loaded) {
    return view.error ? <ErrorNotice error={view.error} doing="load this run" /> : <Skeleton rows={6} height="3rem" />;
  }
  const { run } = view;
  const shown = stages.find((one) => one.stage === stage);
  const waiting = view.connection !== "ended";
  if (tab === "events") return <EventsTab log={run.log} />;
  const completions = <CompletionsTab key={stage} job={job} run={run} stage={stage} waiting={waiting} />;
  if (tab === "completions") return completions;
  if (stage === "evaluation") {
    return (
      <ResultsTab job={job} summary={shown?.summary ?? {}} waiting={waiting}>
        {completions}
      </ResultsTab>
    );
  }
  const card = reportCard(run.log, stage);
  const charts = (
    <ChartsTab key={stage} jobId={job.id} stage={stage} live={run.series[stage] ?? {}} waiting={waiting} />
  );
  return (
    <>
      {card && <ReportCardTable card={card} />}
      {charts}
    </>
  );
}
