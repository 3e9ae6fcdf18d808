import { around, type Range } from "@/charts/axis";
import { cadence } from "@/charts/cadence";
import type { Along, Placement } from "@/charts/placement";
import type { Series } from "@/charts/series";

/** The first step with a point. A first bucket is named after its last step, and begins earlier. */
export function firstStep({ steps, n }: Series): number | undefined {
  const [first, count = 1] = [steps[0], n?.[0]];
  return first === undefined || count === 1 ? first : Math.max(0, first - (count - 1) * cadence(steps, n));
}

/** The extent of series on an axis. */
export function spanOf(series: Iterable<Series>, along: Along | null = null): Range | null {
  let span: Range | null = null;
  for (const one of series) {
    const [first, last] = [firstStep(one), one.steps.at(-1)];
    if (first === undefined || last === undefined) continue;
    span = around(span, { from: along ? along(first) : first, to: along ? along(last) : last });
  }
  return span;
}

/** The extent of a run on an axis; null where it has no place there. */
export function extentOf(series: Iterable<Series>, placement: Placement | null): Range | null {
  if (!placement) return null;
  const { positions, along } = placement;
  if (!positions?.metric) return spanOf(series, along);
  return positions.at.reduce<Range | null>((range, at) => around(range, { from: at, to: at }), null);
}
