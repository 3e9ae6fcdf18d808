import { Suspense, useDeferredValue } from "react";
import { loadable, usePreloaded } from "@/components/loadable";
import { ErrorNotice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { Note } from "@/components/card";
import { type Choice, Tabs } from "@/components/tabs";
import { hasCritic, hasJudge, loggedSamples, sidesOf } from "@/features/run/model/spec";
import { sampleKey } from "@/features/run/model/state";
import { settled, type StageView } from "@/features/run/model/stages";
import type { RunView } from "@/features/run/model/store";
import type { Seeds } from "@/features/run/model/use-seeds";
import { RunName } from "@/features/run/ui/origin";
import type { Job } from "@/lib/api/types";
import type { Stage } from "@/lib/states";

const ChartsTab = loadable(async () => (await import("@/features/run/ui/charts-tab")).ChartsTab);
const EventsTab = loadable(async () => (await import("@/features/run/ui/events-tab")).EventsTab);
const AboutTab = loadable(async () => (await import("@/features/run/ui/about-tab")).AboutTab);
const CheckpointsTab = loadable(async () => (await import("@/features/run/ui/checkpoints-tab")).CheckpointsTab);
const ResultsTab = loadable(async () => (await import("@/features/run/ui/results-tab")).ResultsTab);
const LogsTab = loadable(async () => (await import("@/features/run/ui/logs-tab")).LogsTab);
const MachineTab = loadable(async () => (await import("@/features/run/ui/machine-tab")).MachineTab);
const SpecTab = loadable(async () => (await import("@/features/run/ui/spec-tab")).SpecTab);
const ReportCardOf = loadable(async () => (await import("@/features/run/ui/report-card")).ReportCardOf);
const CompletionsTab = loadable(async () => (await import("@/features/completions/ui")).CompletionsTab);
const CriticTab = loadable(async () => (await import("@/features/critic/ui")).CriticTab);
const OverOptimisation = loadable(async () => (await import("@/features/completions/ui")).OverOptimisation);

interface RunTabsProps {
  job: Job;
  view: RunView;
  seeds: Seeds;
  stage: Stage;
  tab: string;
  addressOf: (tab: string) => URLSearchParams;
}

export function RunTabs(props: RunTabsProps) {
  const { job, stage, tab, addressOf } = props;
  const tabs: Choice<string>[] = [
    { id: "metrics", label: stage === "evaluation" ? "Result" : "Metrics" },
    { id: "completions", label: "Completions" },
    { id: "events", label: "Events" },
    { id: "logs", label: "Logs" },
    { id: "machine", label: "Machine" },
    { id: "checkpoints", label: "Checkpoints" },
    { id: "spec", label: "Spec" },
    { id: "about", label: "Notes" },
    // At the end, so that the others stay in their places when the stage changes.
    ...(stage === "ppo" ? [{ id: "over-optimisation", label: "Over-optimisation" }] : []),
    ...(stage === "ppo" && hasCritic(job.spec) ? [{ id: "critic", label: "Critic" }] : []),
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

function Panel({ job, view, seeds, stage, tab, isReady }: RunTabsProps & { isReady: boolean }) {
  if (tab === "spec") return <SpecTab job={job} />;
  if (tab === "logs") return <LogsTab job={job} />;
  if (tab === "machine") return <MachineTab job={job} />;
  if (tab === "about") return <AboutTab job={job} />;
  if (tab === "checkpoints") return <CheckpointsTab job={job} />;
  if (!isReady) {
    return view.error ? <ErrorNotice error={view.error} doing="load this run" /> : <Skeleton rows={6} height="3rem" />;
  }
  const { run, seed, stages } = seeds.one;
  const shown = stages.find((one) => one.stage === stage);
  const isAll = seeds.all.length > 1;
  const waiting = !view.ended;
  if (tab === "events")
    return <EventsTab log={isAll ? view.run.log : run.log} stages={stages.map((one) => one.stage)} />;
  const common = { jobId: job.id, seed, judged: hasJudge(job.spec), waiting };
  const note = isAll && <OneSeedOnly seeds={seeds} />;
  if (tab === "over-optimisation") {
    const [ppo, evaluation] = (["ppo", "evaluation"] as const).map((name) => stages.find((one) => one.stage === name));
    const summary = { ...ppo?.summary, ...evaluation?.summary };
    return (
      <>
        {note}
        <OverOptimisation {...common} key={seed} series={run.series.ppo ?? {}} summary={summary} log={run.log} />
      </>
    );
  }
  if (tab === "critic") {
    const steps = run.series.ppo?.["critic/td_error"]?.steps ?? [];
    return (
      <>
        {note}
        <CriticTab jobId={job.id} key={seed} {...{ seed, steps, waiting }} logged={loggedSamples(job.spec)} />
      </>
    );
  }
  const completions = (
    <CompletionsTab
      {...common}
      key={`${seed} ${stage}`}
      stage={stage}
      steps={run.sampleSteps[stage] ?? []}
      evaluated={run.series[stage]?.["eval/win_rate"]?.steps ?? []}
      live={(step) => run.samples[sampleKey(stage, step)]}
      sides={sidesOf(job.spec, job.inputs)}
    />
  );
  const noted = (
    <>
      {note}
      {completions}
    </>
  );
  if (tab === "completions") return noted;
  if (stage === "evaluation") {
    const summary = (isAll ? job.seeds_summary : shown?.summary) ?? {};
    return (
      <ResultsTab job={job} summary={summary} seeds={isAll ? job.seeds : []} waiting={waiting}>
        {noted}
      </ResultsTab>
    );
  }
  const hasCard = run.log.some((event) => event.type === "report_card" && event.stage === stage);
  const charts = (
    <ChartsTab
      key={stage}
      job={job}
      stage={stage}
      runs={seeds.all.map((one) => ({
        seed: one.seed,
        counts: one.counts,
        log: one.run.log,
        series: settled(one.run.series[stage] ?? {}, view.ended || isDone(one.stages, stage)),
      }))}
      log={isAll ? view.run.log : run.log}
      waiting={waiting}
      hasSamples={Boolean(run.sampleSteps[stage]?.length)}
    />
  );
  return (
    <>
      {shown?.from && <InheritedNote from={shown.from} />}
      {charts}
      {/* Below the charts, so that its arrival moves none of them. */}
      {hasCard && note}
      {hasCard && <ReportCardOf log={run.log} stage={stage} />}
    </>
  );
}

const isDone = (stages: readonly StageView[], stage: Stage): boolean =>
  stages.some((one) => one.stage === stage && one.state === "done");

/** Over the charts of a stage that another run has run. */
function InheritedNote({ from }: { from: NonNullable<StageView["from"]> }) {
  return (
    <Note>
      This stage ran in <RunName job={from.job} name={from.name} deleted={false} />. This run uses its result.
      Completions, events and the report card are on the page of that run.
    </Note>
  );
}

/** Over what exists for one seed only, while all are shown. */
function OneSeedOnly({ seeds: { one, all } }: { seeds: Seeds }) {
  return (
    <Note>
      {`This is seed ${one.seed}, ${one.counts ? "the best" : "the one that runs or ran last"} of ${all.length}. Choose another one in the table of the seeds.`}
    </Note>
  );
}
