import { useCallback, useMemo } from "react";
import { around, isStepAxis, metricOf, type Range } from "@/charts/axis";
import { Charts } from "@/charts/charts";
import { extentOf } from "@/charts/extent";
import { axesOf, stepAt, stepsOf } from "@/charts/placement";
import type { Series } from "@/charts/series";
import { useChartView } from "@/charts/settings";
import { ChartToolbar } from "@/charts/toolbar";
import { Note } from "@/components/card";
import { Notice } from "@/components/notice";
import { Segmented } from "@/components/segmented";
import {
  AllMetrics,
  ChartGrid,
  chartSpecs,
  ChartTools,
  ownSpecs,
  useFind,
  useLayout,
  useMeanings,
} from "@/features/metric-charts/ui";
import { evaluatedSteps, marksOf } from "@/features/run/model/marks";
import { CURVES } from "@/features/run/model/seeds";
import { useHistory } from "@/features/run/model/use-history";
import { type LoggedRun, placedMarks, usePlaced } from "@/features/run/model/use-placed";
import { EnlargedRunChart, RunChart } from "@/features/run/ui/run-chart";
import { useAddress, useParameter } from "@/lib/address";
import type { HistoryPart, Job, JobEvent } from "@/lib/api/types";
import { day } from "@/lib/format";
import { type Stage, stageShort } from "@/lib/states";

interface ChartsTabProps {
  job: Job;
  stage: Stage;
  /** The series of this stage of every seed; one run for a job of one seed, or one chosen seed. */
  runs: readonly LoggedRun[];
  log: readonly JobEvent[];
  waiting: boolean;
  /** Whether steps of this stage have completions. */
  hasSamples: boolean;
}

type ByName = Readonly<Record<string, Series>>;

/** Several seeds have checkpoints at the same steps, so only findings and roll-backs are marked. */
const isOfSeed = (event: JobEvent): boolean => event.type === "health" || event.type === "rolled_back";

/** The charts of one stage. */
export function ChartsTab({ job, stage, runs: seeds, log, waiting, hasSamples }: ChartsTabProps) {
  const [view, change] = useChartView();
  const isAll = seeds.length > 1;
  const { parts, gone } = useHistory(job, stage, view.axis);
  const { runs, history, isReady } = usePlaced(view.axis, stage, seeds, parts);
  const [named, setCurves] = useParameter("curves");
  const curves = CURVES.find(({ id }) => id === named)?.id ?? "both";
  const series = useMemo(
    () => Object.assign({}, ...[...seeds, ...parts.toReversed()].map((run) => run.series).toReversed()) as ByName,
    [seeds, parts],
  );
  const names = Object.keys(series).join("\n"); // by value: a new point is no new name
  const { metrics, ...shown } = useStageCharts(stage, names);
  const evaluated = evaluatedSteps(series).join("\n"); // by value, too
  const marks = useMemo(
    () => marksOf(isAll ? log.filter(isOfSeed) : log, stage, evaluated.split("\n").filter(Boolean).map(Number), isAll),
    [log, stage, evaluated, isAll],
  );
  const placed = useMemo(() => placedMarks(marks, runs), [marks, runs]);
  const positions = runs[0]?.placement?.positions ?? null;
  const point = useCompletionsAt(stage, positions);
  const find = useFind();
  if (!metrics.length)
    return gone.length ? <Gone parts={gone} /> : <NoPoints job={job} stage={stage} waiting={waiting} />;
  const located = [...runs, ...history];
  const span = located.reduce<Range | null>(
    (all, one) => around(all, extentOf(Object.values(one.series), one.placement ?? null)),
    null,
  );
  const steps = runs.reduce<Range | null>(
    (all, { placement }) => around(all, stepsOf(view.view, placement?.positions ?? null)),
    null,
  );
  const isLog = view.axis === "log-step";
  const data = { jobId: job.id, stage, series, runs, history, curves, meanings: shown.meanings, steps, isLog, isReady };
  const drawing = {
    draw: (spec: Spec, cardParts: Parts) => <RunChart spec={spec} data={data} parts={cardParts} />,
    drawLarge: (spec: Spec, height: number) => <EnlargedRunChart spec={spec} data={data} height={height} />,
  };
  // Each seed has positions of its own on the other axes.
  const hasPoint = hasSamples && (!isAll || isStepAxis(view.axis));
  const axisName = shown.meanings.get(metricOf(view.axis) ?? "")?.label;
  return (
    <Charts
      view={view}
      onView={change}
      span={span}
      axisName={axisName}
      marks={placed}
      {...(hasPoint && { onPoint: point, pointHint: "show the completions of the step" })}
    >
      <ChartToolbar view={view} onChange={change} axes={axesOf(new Set(shown.names))} metrics={metrics}>
        {isAll && (
          <Segmented
            label="Lines of the seeds"
            options={CURVES}
            value={curves}
            onChange={(curves) => setCurves(curves === "both" ? null : curves)}
          />
        )}
        <ChartTools {...shown} />
      </ChartToolbar>
      {gone.length > 0 && <Gone parts={gone} />}
      {job.metrics_thinned_at && <Thinned at={job.metrics_thinned_at} />}
      <ChartGrid {...shown} {...drawing} find={find} />
      <AllMetrics {...shown} {...drawing} find={find} />
    </Charts>
  );
}

type Spec = Parameters<typeof RunChart>[0]["spec"];
type Parts = Parameters<typeof RunChart>[0]["parts"];

/** The charts of a stage whose measured metrics have these names, a line each, and these metrics by their labels. */
function useStageCharts(stage: Stage, lines: string) {
  const meanings = useMeanings(stage, lines);
  const { own } = useLayout(stage);
  return useMemo(() => {
    const names = lines.split("\n").filter(Boolean);
    const usual = chartSpecs(meanings, names);
    const titles = usual.map(({ title }) => title);
    const metrics = names
      .map((name) => ({ name, label: meanings.get(name)?.label ?? name }))
      .sort((a, b) => a.label.localeCompare(b.label));
    return { place: stage, charts: [...ownSpecs(own, meanings, titles), ...usual], names, meanings, metrics };
  }, [stage, own, meanings, lines]);
}

/** Opens the completions of the step at a position. */
function useCompletionsAt(stage: Stage, positions: Parameters<typeof stepAt>[1]) {
  const [, setParams] = useAddress();
  return useCallback(
    (at: number) =>
      setParams((before) => {
        before.set("stage", stage);
        before.set("tab", "completions");
        before.set("step", String(Math.round(stepAt(at, positions))));
        return before;
      }, true),
    [positions, stage, setParams],
  );
}

/** Parts of the history whose runs were deleted. */
function Gone({ parts }: { parts: readonly HistoryPart[] }) {
  return parts.map(({ job, name, stage, to }) => (
    <Note key={job}>
      {`${stageShort(stage)}${to === null ? "" : ` until step ${to}`} ran in ${name || "a run"}, which was deleted. Its curves were deleted with it.`}
    </Note>
  ));
}

/** The exact steps that the platform has deleted. */
function Thinned({ at }: { at: string }) {
  return (
    <Note>
      {`The platform thinned these metrics on ${day(at)}. A point stands for 4 steps or more; the newest steps are exact.`}
    </Note>
  );
}

function NoPoints({ job, stage, waiting }: { job: Job; stage: string; waiting: boolean }) {
  const queued = job.status === "queued" ? (job.queue?.reason ?? job.status_reason) : "";
  const reason = job.queue_reason ?? queued;
  return (
    <Notice title={waiting ? `No measurements of ${stageShort(stage)} yet` : `No measurements of ${stageShort(stage)}`}>
      <p>
        {waiting
          ? "The charts appear with the first step; this page updates automatically."
          : "The job ended before this stage reported its first step."}
      </p>
      {reason && <p>{reason}</p>}
    </Notice>
  );
}
