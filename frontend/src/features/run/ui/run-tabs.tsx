import { Suspense, useDeferredValue } from "react";
import { loadable, usePreloaded } from "@/components/loadable";
import { ErrorNotice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { type Choice, Tabs } from "@/components/tabs";
import { reportCard } from "@/features/run/model/report-card";
import { hasJudge, sidesOf, stagesOf } from "@/features/run/model/spec";
import { sampleKey } from "@/features/run/model/state";
import { settled, type StageView } from "@/features/run/model/stages";
import type { RunView } from "@/features/run/model/store";
import { ReportCardTable } from "@/features/run/ui/report-card";
import { useAddress } from "@/lib/address";
import type { Job } from "@/lib/api/types";
import { asStage, type Stage } from "@/lib/states";

const ChartsTab = loadable(async () => (await import("@/features/run/ui/charts-tab")).ChartsTab);
const EventsTab = loadable(async () => (await import("@/features/run/ui/events-tab")).EventsTab);
const AboutTab = loadable(async () => (await import("@/features/run/ui/about-tab")).AboutTab);
const CheckpointsTab = loadable(async () => (await import("@/features/run/ui/checkpoints-tab")).CheckpointsTab);
const ResultsTab = loadable(async () => (await import("@/features/run/ui/results-tab")).ResultsTab);
const LogsTab = loadable(async () => (await import("@/features/run/ui/logs-tab")).LogsTab);
const MachineTab = loadable(async () => (await import("@/features/run/ui/machine-tab")).MachineTab);
const SpecTab = loadable(async () => (await import("@/features/run/ui/spec-tab")).SpecTab);
const CompletionsTab = loadable(async () => (await import("@/features/completions/ui")).CompletionsTab);
const OverOptimisation = loadable(async () => (await import("@/features/completions/ui")).OverOptimisation);

interface RunTabsProps {
  job: Job;
  view: RunView;
  stages: readonly StageView[];
  stage: Stage;
  tab: TabId;
  addressOf: (tab: TabId) => URLSearchParams;
}

export function RunTabs(props: RunTabsProps) {
  const { stage, tab, addressOf } = props;
  const tabs: Choice<TabId>[] = [
    { id: "metrics", label: stage === "evaluation" ? "Result" : "Metrics" },
    { id: "completions", label: "Completions" },
    ...(stage === "ppo" ? [{ id: "over-optimisation", label: "Over-optimisation" } as const] : []),
    { id: "events", label: "Events" },
    { id: "logs", label: "Logs" },
    { id: "machine", label: "Machine" },
    { id: "checkpoints", label: "Checkpoints" },
    { id: "spec", label: "Spec" },
    { id: "about", label: "Notes" },
  ];
  const shown = tabs.some(({ id }) => id === tab) ? tab : "metrics";
  // The head of the page comes first, but the charts should be there with the data. Deferred, they are rendered in small steps.
  const hasCharts = usePreloaded(ChartsTab);
  const isReady = useDeferredValue(props.view.loaded && (hasCharts || shown !== "metrics"));
  return (
    <Tabs tabs={tabs} value={shown} addressOf={addressOf} label="Views of this job">
      <Suspense fallback={<Skeleton rows={6} height="3rem" />}>
        <Panel {...props} tab={shown} isReady={isReady} />
      </Suspense>
    </Tabs>
  );
}

function Panel({ job, view, stages, stage, tab, isReady }: RunTabsProps & { isReady: boolean }) {
  if (tab === "spec") return <SpecTab job={job} />;
  if (tab === "logs") return <LogsTab job={job} />;
  if (tab === "machine") return <MachineTab job={job} />;
  if (tab === "about") return <AboutTab job={job} />;
  if (tab === "checkpoints") return <CheckpointsTab job={job} />;
  if (!isReady) {
    return view.error ? <ErrorNotice error={view.error} doing="load this run" /> : <Skeleton rows={6} height="3rem" />;
  }
  const { run } = view;
  const shown = stages.find((one) => one.stage === stage);
  const waiting = !view.ended;
  if (tab === "events") return <EventsTab log={run.log} stages={stages.map((one) => one.stage)} />;
  const common = { jobId: job.id, judged: hasJudge(job.spec), waiting };
  if (tab === "over-optimisation") return <OverOptimisation {...common} series={run.series.ppo ?? {}} log={run.log} />;
  const completions = (
    <CompletionsTab
      {...common}
      key={stage}
      stage={stage}
      steps={run.sampleSteps[stage] ?? []}
      evaluated={run.series[stage]?.["eval/win_rate"]?.steps ?? []}
      live={(step) => run.samples[sampleKey(stage, step)]}
      sides={sidesOf(job.spec)}
    />
  );
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
    <ChartsTab
      key={stage}
      jobId={job.id}
      stage={stage}
      live={settled(run.series[stage] ?? {}, view.ended || shown?.state === "done")}
      log={run.log}
      waiting={waiting}
      hasSamples={Boolean(run.sampleSteps[stage]?.length)}
    />
  );
  return (
    <>
      {card && <ReportCardTable card={card} />}
      {charts}
    </>
  );
}

const TABS = [
  "metrics",
  "completions",
  "over-optimisation",
  "events",
  "logs",
  "machine",
  "checkpoints",
  "spec",
  "about",
] as const;
/** Settings of single tabs in the address. They end with the tab. */
const OF_TABS = [
  "find",
  "type",
  "in",
  "trouble",
  "source",
  "against",
  "differing",
  "show",
  "step",
  "q",
  "by",
  "order",
  "min",
  "max",
  "ended",
  "prompts",
  "beside",
  "row",
  "of",
  "colour",
  "better",
  "diff",
];
type TabId = (typeof TABS)[number];

interface Chosen {
  stage: Stage;
  tab: TabId;
  chooseStage: (stage: Stage) => void;
  addressOf: (tab: TabId) => URLSearchParams;
}

/** The stage and the tab, kept in the address so that a link shows the same. Without a choice the page follows the job. */
export function useChosen(job: Job | undefined): Chosen {
  const [params, setParams] = useAddress();
  const stages = job ? stagesOf(job.spec) : [];
  const present = asStage(job?.stage) ?? stages[0] ?? "sft";
  const named = asStage(params.get("stage"));
  const set = (name: string, value: string | null) =>
    setParams((before) => {
      const after = new URLSearchParams(before);
      if (value === null) after.delete(name);
      else after.set(name, value);
      return after;
    });
  return {
    stage: named && stages.includes(named) ? named : present,
    tab: TABS.find((tab) => tab === params.get("tab")) ?? "metrics",
    chooseStage: (stage) => set("stage", stage === present ? null : stage),
    addressOf: (tab) => {
      const after = new URLSearchParams(params);
      for (const name of OF_TABS) after.delete(name);
      if (tab === "metrics") after.delete("tab");
      else after.set("tab", tab);
      return after;
    },
  };
}
