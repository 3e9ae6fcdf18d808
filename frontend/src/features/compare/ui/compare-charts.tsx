import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import { around, axisText, isStepAxis, metricOf, type Range } from "@/charts/axis";
import { Charts } from "@/charts/charts";
import { extentOf } from "@/charts/extent";
import { axesOf } from "@/charts/placement";
import { useChartView } from "@/charts/settings";
import { ChartToolbar } from "@/charts/toolbar";
import { ErrorNotice } from "@/components/notice";
import { chartedMetrics, curveNames } from "@/features/compare/api";
import type { Group } from "@/features/compare/model/differences";
import type { PlacedRun } from "@/features/compare/model/placed-runs";
import { useCurves } from "@/features/compare/model/use-curves";
import { useFiner } from "@/features/compare/model/use-finer";
import { CompareChart, EnlargedCompareChart } from "@/features/compare/ui/compare-chart";
import {
  AllMetrics,
  type CardParts,
  ChartGrid,
  type ChartSpec,
  ChartTools,
  COMPARED,
  ownSpecs,
  useFind,
  useLayout,
  useMeanings,
} from "@/features/metric-charts/ui";
import type { Job } from "@/lib/api/types";
import { metricReferenceQuery } from "@/lib/labels";
import { shortNames } from "@/lib/names";
import { type Stage, stageShort } from "@/lib/states";
import styles from "./compare.module.css";

interface CompareChartsProps {
  groups: readonly Group<Job>[];
  stage: Stage;
  /** In place of the charts until they are there. */
  loading: ReactNode;
}

/** A chart for each metric of the stage that has one and that a run has measured, with a line for each group of runs. */
export function CompareCharts({ loading, ...shown }: CompareChartsProps) {
  const { data } = useQuery(metricReferenceQuery);
  const known = useMemo(() => {
    const ofStage = (data ?? []).filter(({ stage, name }) => stage === shown.stage && !name.includes("<"));
    return {
      charted: chartedMetrics(data ?? [], shown.stage),
      usual: curveNames(data ?? [], shown.stage),
      all: ofStage.map(({ name }) => name),
    };
  }, [data, shown.stage]);
  if (!data) return loading;
  return <Shown {...shown} loading={loading} known={known} />;
}

interface ShownProps extends CompareChartsProps {
  /** The metrics of the stage: those with a chart, those to fetch at first, and the names of all in the reference. */
  known: {
    readonly charted: readonly { readonly name: string; readonly label: string }[];
    readonly usual: readonly string[];
    readonly all: readonly string[];
  };
}

function Shown({ groups, stage, loading, known }: ShownProps) {
  const [view, change] = useChartView();
  const place = COMPARED + stage;
  const { own } = useLayout(place);
  const find = useFind();
  const [wantsAll, setWantsAll] = useState(false);
  const all = wantsAll || find !== "";
  const runs = useMemo(() => groups.flatMap((group) => group.runs), [groups]);
  const ownNames = useMemo(() => [...new Set(own.flatMap(({ metrics }) => metrics))], [own]);
  const wanted = { axis: view.axis, usual: known.usual, own: ownNames, all };
  const { placed: whole, measured, isLoading, error } = useCurves(runs, stage, wanted);
  const { placed, coarse } = useFiner(whole, stage, view.view);
  const found = [...new Set([...known.all, ...(measured ?? []), ...ownNames])].join("\n"); // by value
  const meanings = useMeanings(stage, found);
  const charts = useMemo(() => {
    const isMeasured = (name: string) => placed.some(({ curves }) => curves.get(name)?.length);
    const usual = known.charted
      .filter(({ name }) => isMeasured(name))
      .map(({ name, label }): ChartSpec => ({ title: label, lines: [{ name, short: label, right: false }] }));
    const titles = usual.map(({ title }) => title);
    return { usual, all: [...ownSpecs(own, meanings, titles), ...usual] };
  }, [known, own, meanings, placed]);
  if (error) return <ErrorNotice error={error} doing="load the curves" />;
  if (!charts.usual.length && isLoading) return loading;
  if (!charts.usual.length) return <p className={styles.note}>No run has measured this stage yet.</p>;
  const names = found.split("\n");
  const metrics = names
    .map((name) => ({ name, label: meanings.get(name)?.label ?? name }))
    .sort((a, b) => a.label.localeCompare(b.label));
  const axisName = meanings.get(metricOf(view.axis) ?? "")?.label;
  const data = { groups, placed, meanings, isLoading };
  const drawing = {
    draw: (spec: ChartSpec, parts: CardParts) => <CompareChart spec={spec} data={data} parts={parts} />,
    drawLarge: (spec: ChartSpec, height: number) => <EnlargedCompareChart spec={spec} data={data} height={height} />,
  };
  const shown = { place, charts: charts.all, names, meanings };
  return (
    <Charts view={view} onView={change} span={isLoading ? null : spanOfRuns(whole)} axisName={axisName}>
      <ChartToolbar view={view} onChange={change} axes={axesOf(new Set(known.all))} metrics={metrics}>
        <ChartTools {...shown} onOpen={() => setWantsAll(true)} />
      </ChartToolbar>
      {!isLoading && (
        <Missing
          placed={placed}
          coarse={coarse}
          stage={stage}
          axis={isStepAxis(view.axis) ? null : axisText(view.axis, axisName ?? "")}
        />
      )}
      <ChartGrid {...shown} {...drawing} find={find} />
      <AllMetrics names={measured} meanings={meanings} {...drawing} find={find} onOpen={() => setWantsAll(true)} />
    </Charts>
  );
}

const spanOfRuns = (placed: readonly PlacedRun[]): Range | null =>
  placed
    .flatMap(({ curves }) => [...curves.values()].flat())
    .reduce<Range | null>((span, { series, placement }) => around(span, extentOf([series], placement)), null);

interface MissingProps {
  placed: readonly PlacedRun[];
  /** Those of them whose finer points could not be fetched. */
  coarse: readonly PlacedRun[];
  stage: Stage;
  /** Name of the axis, where it does not show steps. */
  axis: string | null;
}

/** The runs that have no line on any chart, and those whose exact steps are deleted or did not come. */
function Missing({ placed, coarse, stage, axis }: MissingProps) {
  const names = shortNames(placed.map(({ job }) => job));
  const named = (runs: readonly PlacedRun[]) => runs.map((run) => names[placed.indexOf(run)]?.brief).join(", ");
  const silent = placed.filter(({ curves }) => !curves.size);
  const lost = placed.filter(({ curves }) => {
    const all = [...curves.values()].flat();
    return all.length > 0 && all.every(({ placement }) => !placement);
  });
  const thinned = placed.filter(({ job }) => job.metrics_thinned_at !== null);
  if (!silent.length && !thinned.length && !coarse.length && !(axis && lost.length)) return null;
  return (
    <p className={styles.note} role="status">
      {silent.length > 0 && `Without measurements of ${stageShort(stage)}: ${named(silent)}. `}
      {thinned.length > 0 && `Thinned, so a point stands for 4 steps or more: ${named(thinned)}. `}
      {coarse.length > 0 && `The server gave no finer points, so a point stands for several steps: ${named(coarse)}. `}
      {axis && lost.length > 0 && `Not on the axis “${axis}”, which they have not measured: ${named(lost)}.`}
    </p>
  );
}
