import { useQueries, type UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import { around, type Range } from "@/charts/axis";
import { withFiner } from "@/charts/finer";
import { stepsOf } from "@/charts/placement";
import { type Curve, curvesQuery, shownPart } from "@/features/compare/api";
import type { PlacedCurve, PlacedRun } from "@/features/compare/model/placed-runs";
import { hasEnded, type Stage } from "@/lib/states";

type Fetched = ReadonlyMap<string, readonly Curve[]> | undefined;

const combine = (results: readonly UseQueryResult<Fetched>[]) =>
  results.map(({ data, isError }) => ({ data, failed: isError && !data }));

interface Finer {
  readonly placed: readonly PlacedRun[];
  /** The runs whose finer points could not be fetched, so that they are shown in buckets. */
  readonly coarse: readonly PlacedRun[];
}

/** The runs with finer points where their curves come in buckets, of the part of the axis that is shown; null for all of it. */
export function useFiner(placed: readonly PlacedRun[], stage: Stage, shown: Range | null): Finer {
  const wanted = useMemo(() => placed.map((run) => wantedOf(run, shown)), [placed, shown]);
  const found = useQueries({
    queries: placed.map(({ job }, index) => {
      const { names = [], part } = wanted[index] ?? {};
      return {
        ...curvesQuery(job.id, stage, names, !hasEnded(job.status), part),
        enabled: names.length > 0,
        gcTime: 20_000, // each part that a user pans to is a query of its own
      };
    }),
    combine,
  });
  return useMemo(() => {
    const runs = placed.map((run, index) => finer(run, found[index]?.data));
    return { placed: runs, coarse: runs.filter((_, index) => found[index]?.failed) };
  }, [placed, found]);
}

/** The metrics of a run that come in buckets, and the part of its steps that is shown. */
function wantedOf({ curves }: PlacedRun, shown: Range | null) {
  const bucketed = [...curves].filter(([, all]) => all.some(({ series }) => series.min));
  const placements = bucketed.flatMap(([, all]) => all.flatMap(({ placement }) => placement ?? []));
  // Each seed has positions of its own.
  const steps = placements.reduce<Range | null>((all, { positions }) => around(all, stepsOf(shown, positions)), null);
  if (!steps) return {};
  return { names: bucketed.map(([name]) => name), part: shownPart(steps) };
}

function finer(run: PlacedRun, found: Fetched): PlacedRun {
  if (!found) return run;
  const one = (name: string, curve: PlacedCurve): PlacedCurve => {
    const part = found.get(name)?.find(({ seed }) => seed === curve.seed);
    return { ...curve, series: withFiner(part?.series, curve.series) };
  };
  const curves = [...run.curves].map(([name, all]) => [name, all.map((curve) => one(name, curve))] as const);
  return { ...run, curves: new Map(curves) };
}
