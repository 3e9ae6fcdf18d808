import type { Job } from "@/api/types";
import { ErrorNotice } from "@/components/error-notice";
import { Skeleton } from "@/components/skeleton";
import { Tabs, type Tab } from "@/components/tabs";
import { ChartsTab } from "@/features/run/charts/charts-tab";
import { CheckpointsTab } from "@/features/run/files/checkpoints-tab";
import { SpecTab } from "@/features/run/files/spec-tab";
import { CompletionsTab } from "@/features/run/completions/completions-tab";
import { EventsTab } from "@/features/run/log/events-tab";
import { ResultsTab } from "@/features/run/results/results-tab";
import { ReportCardTable } from "@/features/run/report-card/report-card-table";
import styles from "@/features/run/run.module.css";
import type { TabId } from "@/features/run/use-chosen";
import { reportCard } from "@/lib/run/report-card";
import type { StageView } from "@/lib/run/stages";
import type { RunView } from "@/lib/run/store";
import type { Stage } from "@/lib/stages";

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
