import { useCallback, useMemo, useState } from "react";
import type { AxisKind } from "@/charts/axis";
import { Charts, spanOf } from "@/charts/charts";
import type { Series } from "@/charts/series";
import { useChartView } from "@/charts/settings";
import { ChartToolbar } from "@/charts/toolbar";
import { Note } from "@/components/card";
import { Notice } from "@/components/notice";
import { Segmented } from "@/components/segmented";
import { alongOf, axesOf, positionsOn, stepsOf } from "@/features/run/model/axes";
import { chartSpecs } from "@/features/run/model/chart-specs";
import { useLayout } from "@/features/run/model/layout";
import { evaluatedSteps, marksOf } from "@/features/run/model/marks";
import { useMeanings } from "@/features/run/model/meanings";
import { ownSpecs } from "@/features/run/model/own-charts";
import { CURVES, type SeedRun } from "@/features/run/model/seeds";
import { useHistory } from "@/features/run/model/use-history";
import { ChartCard, type ChartData } from "@/features/run/ui/chart-card";
import { AddChart } from "@/features/run/ui/chart-editor";
import { ChartGrid } from "@/features/run/ui/chart-grid";
import { FullScreen } from "@/features/run/ui/full-screen";
import { useAddress, useParameter } from "@/lib/address";
import type { HistoryPart, Job, JobEvent } from "@/lib/api/types";
import { type Stage, stageShort } from "@/lib/states";
import styles from "./charts.module.css";

interface ChartsTabProps {
  job: Job;
  stage: Stage;
  /** The series of this stage of every seed; one run for a job of one seed, or one chosen seed. */
  runs: readonly SeedRun[];
  log: readonly JobEvent[];
  waiting: boolean;
  /** Whether steps of this stage have completions. */
  hasSamples: boolean;
}

const NO_HISTORY: ReturnType<typeof useHistory>["parts"] = [];
type ByName = Readonly<Record<string, Series>>;

/** The axes on which several seeds share their positions. */
const ACROSS: readonly AxisKind[] = ["step", "log-step"];

/** Several seeds have checkpoints at the same steps, so only findings and roll-backs are marked. */
const isOfSeed = (event: JobEvent): boolean => event.type === "health" || event.type === "rolled_back";

/** The charts of one stage. */
export function ChartsTab({ job, stage, runs, log, waiting, hasSamples }: ChartsTabProps) {
  const [chosen, change] = useChartView();
  const isAll = runs.length > 1;
  // Each seed has its own time and tokens at a step.
  const { parts, gone } = useHistory(job, stage);
  const isInherited = runs.every((run) => !Object.keys(run.series).length) && parts.length > 0;
  const isOnSteps = isAll || isInherited;
  const view = isOnSteps && !ACROSS.includes(chosen.axis) ? { ...chosen, axis: "step" as const } : chosen;
  const [named, setCurves] = useParameter("curves");
  const curves = CURVES.find(({ id }) => id === named)?.id ?? "both";
  // An ancestor has a time and tokens of its own at a step, too.
  const history = ACROSS.includes(view.axis) ? parts : NO_HISTORY;
  const series = useMemo(
    () => Object.assign({}, ...[...runs, ...history.toReversed()].map((run) => run.series).toReversed()) as ByName,
    [runs, history],
  );
  const [params, setParams] = useAddress();
  const names = Object.keys(series).join("\n"); // by value: a new point is no new name
  const meanings = useMeanings(stage, names);
  const { own } = useLayout(stage);
  const charts = useMemo(() => {
    const usual = chartSpecs(meanings, names.split("\n"));
    const titles = usual.map(({ title }) => title);
    return [...ownSpecs(own, meanings, titles), ...usual];
  }, [own, meanings, names]);
  const evaluated = evaluatedSteps(series).join("\n"); // by value, too
  const marks = useMemo(
    () => marksOf(isAll ? log.filter(isOfSeed) : log, stage, evaluated.split("\n").filter(Boolean).map(Number), isAll),
    [log, stage, evaluated, isAll],
  );
  const positions = useMemo(() => positionsOn(view.axis, series, log, stage), [view.axis, series, log, stage]);
  const along = useMemo(() => alongOf(positions), [positions]);
  const openCompletions = useCallback(
    (at: number) => {
      const step = stepsOf({ from: at, to: at }, positions)?.from ?? at;
      const change = (before: URLSearchParams) => {
        before.set("stage", stage);
        before.set("tab", "completions");
        before.set("step", String(Math.round(step)));
        return before;
      };
      setParams(change, true);
    },
    [positions, stage, setParams],
  );
  if (!Object.keys(series).length)
    return gone.length ? <Gone parts={gone} /> : <NoPoints job={job} stage={stage} waiting={waiting} />;
  const found = params.get("find") ?? "";
  const find = found.trim().toLowerCase();
  const search = (text: string) =>
    setParams((before) => {
      if (text) before.set("find", text);
      else before.delete("find");
      return before;
    });
  const card = { jobId: job.id, stage, series, runs, history, curves, meanings, steps: stepsOf(view.view, positions) };
  const point = hasSamples ? { onPoint: openCompletions, pointHint: "show the completions of the step" } : {};
  return (
    <Charts
      view={view}
      onView={change}
      span={spanOf(
        [...runs, ...history].flatMap((run) => Object.values(run.series)),
        along,
      )}
      along={along}
      marks={marks}
      {...point}
    >
      <ChartToolbar view={view} onChange={change} axes={isOnSteps ? ACROSS : axesOf(series)}>
        {isAll && (
          <Segmented
            label="Lines of the seeds"
            options={CURVES}
            value={curves}
            onChange={(curves) => setCurves(curves === "both" ? null : curves)}
          />
        )}
        <input
          type="search"
          className={styles.find}
          placeholder="Find a metric"
          aria-label="Find a metric"
          value={found}
          onChange={(event) => search(event.target.value)}
        />
        <AddChart stage={stage} charts={charts} names={names.split("\n")} meanings={meanings} />
      </ChartToolbar>
      {gone.length > 0 && <Gone parts={gone} />}
      <ChartGrid charts={charts} find={find} {...card} />
      <AllMetrics find={find} {...card} />
    </Charts>
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

function NoPoints({ job, stage, waiting }: { job: Job; stage: string; waiting: boolean }) {
  const reason = job.status === "queued" ? (job.queue?.reason ?? job.queue_reason ?? job.status_reason) : "";
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

interface AllMetricsProps extends Omit<ChartData, "spec"> {
  find: string;
}

/** Every metric of the stage, each with a chart of its own. Drawn only when opened or searched. */
function AllMetrics({ find, ...card }: AllMetricsProps) {
  const [open, setOpen] = useState(false);
  const [enlarged, setEnlarged] = useState<string | null>(null);
  const names = Object.keys(card.series).sort();
  const label = (name: string) => card.meanings.get(name)?.label ?? name;
  const shown = names.filter((name) => `${name} ${label(name)}`.toLowerCase().includes(find));
  const charts = shown.map((name) => ({ title: label(name), lines: [{ name, short: "", right: false }] }));
  const count = find ? `${shown.length} of ${names.length}` : names.length;
  return (
    <details
      className={styles.all}
      open={open || find !== ""}
      onToggle={(event) => !find && setOpen(event.currentTarget.open)}
    >
      <summary>All metrics ({count})</summary>
      {find !== "" && shown.length === 0 && <p className={styles.hint}>No metric has “{find}” in its name.</p>}
      {(open || find !== "") && (
        <div className={styles.grid}>
          {charts.map((spec) => (
            <ChartCard key={spec.lines[0]?.name} spec={spec} onEnlarge={() => setEnlarged(spec.title)} {...card} />
          ))}
        </div>
      )}
      <FullScreen {...card} charts={charts} title={enlarged} onTitle={setEnlarged} />
    </details>
  );
}
