import type { AxisKind } from "@/charts/axis";
import type { Ancestor } from "@/charts/origin";
import type { Placement } from "@/charts/placement";
import type { Series } from "@/charts/series";
import type { AxisCode } from "@/charts/use-axis-code";
import { type Curve, curvesOf } from "@/features/compare/api";
import type { Job, JobEvent } from "@/lib/api/types";
import type { Stage } from "@/lib/states";

/** A curve with its place on the axis; null where it has none. */
export interface PlacedCurve extends Curve {
  readonly placement: Placement | null;
}

/** A run of the comparison with the curves that stand for it, by metric. Empty until they are fetched. */
export interface PlacedRun {
  readonly job: Job;
  readonly curves: ReadonlyMap<string, readonly PlacedCurve[]>;
}

interface Unplaced {
  /** Null until it is loaded; then nothing has a place. */
  readonly code: AxisCode | null;
  readonly job: Job;
  readonly curves: ReadonlyMap<string, readonly Curve[]>;
  /** The starts of its stages, for the clock time. */
  readonly log: readonly JobEvent[];
  readonly ancestors: readonly Ancestor[];
  readonly axis: AxisKind;
  readonly stage: Stage;
}

/** Places the curves of a run: each seed has positions of its own. */
export function placedRun({ code, job, curves, log, ancestors, axis, stage }: Unplaced): PlacedRun {
  const origin = code?.lineOf(axis, stage, ancestors).origin;
  const bySeed = new Map<number | null, Record<string, Series>>();
  for (const [name, all] of curves)
    for (const { seed, series } of all) bySeed.set(seed, { ...bySeed.get(seed), [name]: series });
  const placements = new Map(
    [...bySeed].map(([seed, series]) => {
      const own = log.filter((event) => event.seed === null || event.seed === seed);
      return [seed, code?.placementOf(axis, { series, log: own, stage, origin }) ?? null];
    }),
  );
  const placed = [...curves].map(([name, all]) => {
    const shown = curvesOf(job, all).map((one) => ({ ...one, placement: placements.get(one.seed) ?? null }));
    return [name, shown] as const;
  });
  return { job, curves: new Map(placed) };
}
