import { useQueries, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import { Chart } from "@/charts/chart";
import { Charts, spanOf } from "@/charts/charts";
import type { ChartLine } from "@/charts/columns";
import { emptySeries, type Series } from "@/charts/series";
import { useChartView } from "@/charts/settings";
import { ChartToolbar } from "@/charts/toolbar";
import { ErrorNotice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { chartedMetrics, curveNames, curvesQuery } from "@/features/compare/api";
import { average, withoutBand } from "@/features/compare/model/average";
import type { Group } from "@/features/compare/model/differences";
import { metricReferenceQuery } from "@/features/run/api";
import type { Job } from "@/lib/api/types";
import { hasEnded, type Stage } from "@/lib/states";
import styles from "./compare.module.css";

interface CompareChartsProps {
  groups: readonly Group<Job>[];
  stage: Stage;
}

/** A chart for each metric of the stage that has one and that a run has measured, with a line for each group of runs. */
export function CompareCharts({ groups, stage }: CompareChartsProps) {
  const { data } = useQuery(metricReferenceQuery);
  const metrics = useMemo(() => chartedMetrics(data ?? [], stage), [data, stage]);
  const names = useMemo(() => curveNames(data ?? [], stage), [data, stage]);
  if (!data) return <Loading />;
  return <Curves groups={groups} stage={stage} metrics={metrics} names={names} />;
}

/** It fills the screen. The sections below it then do not move on the screen when the charts come. */
const Loading = () => <Skeleton rows={4} height="25vh" label="Loading the curves" />;

interface CurvesProps extends CompareChartsProps {
  metrics: readonly { readonly name: string; readonly label: string; readonly unit: string }[];
  /** The metrics to fetch. */
  names: readonly string[];
}

type Curve = UseQueryResult<ReadonlyMap<string, Series>>;

const combine = (results: readonly Curve[]) => ({
  curves: results.map(({ data }) => data),
  error: results.find((one) => one.isError)?.error ?? null,
  isLoading: results.some((one) => one.isPending),
});

function Curves({ groups, stage, metrics, names }: CurvesProps) {
  const [view, change] = useChartView();
  const runs = groups.flatMap((group) => group.runs);
  const { curves, error, isLoading } = useQueries({
    queries: runs.map((run) => curvesQuery(run.id, stage, names, !hasEnded(run.status))),
    combine,
  });
  const span = spanOf(curves.flatMap((found) => [...(found?.values() ?? [])]));
  // A chart whose lines are the same objects is not drawn again.
  const shown = useMemo(() => {
    const measured = metrics.filter(({ name }) => curves.some((found) => found?.get(name)?.steps.length));
    return measured.map(({ name, label, unit }) => {
      const lines = linesOf(
        groups,
        curves.map((found) => found?.get(name)),
      );
      return { name, label, unit, lines };
    });
  }, [metrics, groups, curves]);
  if (error) return <ErrorNotice error={error} doing="load the curves" />;
  if (!shown.length && isLoading) return <Loading />;
  if (!shown.length) return <p className={styles.note}>No run has measured this stage yet.</p>;
  return (
    <Charts view={view} onView={change} span={span}>
      <ChartToolbar view={view} onChange={change} axes={["step"]} />
      <div className={styles.charts}>
        {shown.map(({ name, label, unit, lines }) => (
          <Chart key={name} level={3} title={label} unit={unit} lines={lines} />
        ))}
      </div>
    </Charts>
  );
}

/** The bands of more lines than these would hide the lines. */
const MOST_BANDS = 8;

/** A line for each group: the run itself, or the mean of several. `curves` are those of the runs of all groups, in order. */
function linesOf(groups: readonly Group<Job>[], curves: readonly (Series | undefined)[]): ChartLine[] {
  let next = 0;
  const shown = groups.length > MOST_BANDS ? withoutBand : (series: Series) => series;
  return groups.map((group, index) => ({
    key: group.key,
    label: group.short,
    title: group.label,
    series: shown(average(group.runs.map(() => curves[next++] ?? emptySeries))),
    colour: index,
  }));
}
