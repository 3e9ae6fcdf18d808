import { useQueries, type UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import { type AxisKind, metricOf } from "@/charts/axis";
import { HEAD_STEPS, withFiner } from "@/charts/finer";
import { AXIS_METRICS } from "@/charts/placement";
import { useAxisCode } from "@/charts/use-axis-code";
import { type Curve, curvesQuery, measuredQuery, type StepRange } from "@/features/compare/api";
import { type PlacedRun, placedRun } from "@/features/compare/model/placed-runs";
import { useAncestors } from "@/features/compare/model/use-ancestors";
import { startsQuery } from "@/features/run/api";
import type { Job } from "@/lib/api/types";
import { hasEnded, type Stage } from "@/lib/states";

export type Curves = ReadonlyMap<string, readonly Curve[]>;

interface Wanted {
  readonly axis: AxisKind;
  /** The metrics of the usual charts. */
  readonly usual: readonly string[];
  /** Those of the user's charts. */
  readonly own: readonly string[];
  /** Whether every metric is wanted. */
  readonly all: boolean;
}

const combine = <Data>(results: readonly UseQueryResult<Data>[]) => ({
  data: results.map(({ data }) => data),
  error: results.find((one) => one.isError)?.error ?? null,
  isLoading: results.some((one) => one.isLoading),
});

/** The metrics that an axis is made of. */
const axisMetrics = (axis: AxisKind): readonly string[] => {
  const metric = metricOf(axis);
  return metric === null ? AXIS_METRICS : [metric];
};

function useNamed(runs: readonly Job[], stage: Stage, names: readonly string[], part?: StepRange) {
  return useQueries({
    queries: runs.map((run) => ({
      ...curvesQuery(run.id, stage, names, !hasEnded(run.status), part),
      enabled: names.length > 0,
    })),
    combine,
  });
}

const NO_NAMES: readonly string[] = [];
const HEAD = { from: 0, to: HEAD_STEPS, points: HEAD_STEPS + 1 };

/**
 * The curves of compared runs, each with its place on the axis. Only what is wanted is fetched, in few requests. `measured`:
 * the names of all metrics of the stage that a run has, once all are wanted.
 */
export function useCurves(runs: readonly Job[], stage: Stage, { axis, usual, own, all }: Wanted) {
  const known = useQueries({
    queries: runs.map((run) => ({ ...measuredQuery(run.id, stage, !hasEnded(run.status)), enabled: all })),
    combine,
  });
  const measured = useMemo(
    () => (all && known.data.every(Boolean) ? [...new Set(known.data.flatMap((names) => names ?? []))] : null),
    [all, known.data],
  );
  const more = useMemo(
    () => [...new Set([...own, ...(measured ?? [])])].filter((name) => !usual.includes(name)).sort(),
    [own, measured, usual],
  );
  const first = useNamed(runs, stage, usual);
  const second = useNamed(runs, stage, more);
  const isOnSteps = axis === "step" || axis === "log-step";
  const third = useNamed(runs, stage, isOnSteps ? NO_NAMES : axisMetrics(axis));
  const heads = useNamed(runs, stage, axis === "log-step" ? [...usual, ...more] : NO_NAMES, HEAD);
  const starts = useQueries({
    queries: runs.map((run) => ({ ...startsQuery(run.id, !hasEnded(run.status)), enabled: axis === "time" })),
    combine,
  });
  const code = useAxisCode(axis);
  const ancestors = useAncestors(runs, stage, axis);
  const placed = useMemo(
    () =>
      runs.map((job, index): PlacedRun => {
        const parts = [first, second, third].flatMap(({ data }) => [...(data[index] ?? [])]);
        const curves = joined(new Map(parts), heads.data[index]);
        const log = starts.data[index] ?? [];
        return placedRun({ code, job, curves, log, ancestors: ancestors[index] ?? [], axis, stage });
      }),
    [code, runs, first, second, third, heads, starts, ancestors, axis, stage],
  );
  const isLoading = code === null || [first, second, third, starts, known].some((one) => one.isLoading);
  const error = [first, second, third, heads, starts, known].find((one) => one.error)?.error ?? null;
  return { placed, measured, isLoading, error };
}

/** The curves with their first steps one by one, where these are there. */
function joined(curves: Curves, heads: Curves | undefined): Curves {
  if (!heads) return curves;
  const one = (name: string, { seed, series }: Curve): Curve => {
    const head = heads.get(name)?.find((other) => other.seed === seed);
    return { seed, series: withFiner(head?.series, series) };
  };
  return new Map([...curves].map(([name, all]) => [name, all.map((curve) => one(name, curve))]));
}
