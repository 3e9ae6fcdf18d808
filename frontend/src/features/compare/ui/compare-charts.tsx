import { useQueries, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import { Chart } from "@/charts/chart";
import { Charts, spanOf } from "@/charts/charts";
import type { ChartLine } from "@/charts/columns";
import type { Series } from "@/charts/series";
import { useChartView } from "@/charts/settings";
import { ChartToolbar } from "@/charts/toolbar";
import { ErrorNotice } from "@/components/notice";
import { chartedMetrics, type Curve, curveNames, curvesOf, curvesQuery } from "@/features/compare/api";
import { average, withoutBand } from "@/charts/average";
import type { Group } from "@/features/compare/model/differences";
import type { Job } from "@/lib/api/types";
import { metricReferenceQuery } from "@/lib/labels";
import { hasEnded, type Stage } from "@/lib/states";
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
  const metrics = useMemo(() => chartedMetrics(data ?? [], shown.stage), [data, shown.stage]);
  const names = useMemo(() => curveNames(data ?? [], shown.stage), [data, shown.stage]);
  if (!data) return loading;
  return <Shown {...shown} loading={loading} metrics={metrics} names={names} />;
}

interface ShownProps extends CompareChartsProps {
  metrics: readonly { readonly name: string; readonly label: string; readonly unit: string }[];
  /** The metrics to fetch. */
  names: readonly string[];
}

type Curves = ReadonlyMap<string, readonly Curve[]>;

const combine = (results: readonly UseQueryResult<Curves>[]) => ({
  curves: results.map(({ data }) => data),
  error: results.find((one) => one.isError)?.error ?? null,
  isLoading: results.some((one) => one.isPending),
});

function Shown({ groups, stage, loading, metrics, names }: ShownProps) {
  const [view, change] = useChartView();
  const runs = groups.flatMap((group) => group.runs);
  const { curves, error, isLoading } = useQueries({
    queries: runs.map((run) => curvesQuery(run.id, stage, names, !hasEnded(run.status))),
    combine,
  });
  const span = spanOf(curves.flatMap((found) => [...(found?.values() ?? [])].flat().map(({ series }) => series)));
  // A chart whose lines are the same objects is not drawn again.
  const shown = useMemo(() => {
    const measured = metrics.filter(({ name }) => curves.some((found) => found?.get(name)?.length));
    return measured.map(({ name, label, unit }) => {
      const lines = linesOf(
        groups,
        curves.map((found) => found?.get(name)),
      );
      return { name, label, unit, lines };
    });
  }, [metrics, groups, curves]);
  if (error) return <ErrorNotice error={error} doing="load the curves" />;
  if (!shown.length && isLoading) return loading;
  if (!shown.length) return <p className={styles.note}>No run has measured this stage yet.</p>;
  return (
    <Charts view={view} onView={change} span={span}>
      <ChartToolbar view={view} onChange={change} axes={["step", "log-step"]} />
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

/**
 * A line for each group: the run itself, or the mean of several runs and seeds. `curves` are those of the runs of all groups,
 * in order.
 */
function linesOf(groups: readonly Group<Job>[], curves: readonly (readonly Curve[] | undefined)[]): ChartLine[] {
  let next = 0;
  const shown = groups.length > MOST_BANDS ? withoutBand : (series: Series) => series;
  return groups.map((group, index) => {
    const own = group.runs.flatMap((run) => curvesOf(run, curves[next++]).map(({ series }) => series));
    const mean = own.length > 1 ? `, mean of ${own.length}` : "";
    return {
      key: group.key,
      label: group.short + mean,
      title: group.label + (mean && `${mean} runs with its 95 % interval`),
      series: shown(average(own)),
      colour: index,
    };
  });
}
