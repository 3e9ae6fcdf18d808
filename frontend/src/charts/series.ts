/** One metric over steps, ascending. `min` and `max` are there where the server sent buckets instead of points. */
export interface Series {
  readonly steps: readonly number[];
  readonly values: readonly number[];
  readonly min: readonly number[] | null;
  readonly max: readonly number[] | null;
}

export interface Point {
  readonly step: number;
  readonly value: number;
}

export const emptySeries: Series = { steps: [], values: [], min: null, max: null };

/** The index of the last step ≤ `step`, or -1. */
export function indexAtOrBefore(steps: readonly number[], step: number): number {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((steps[middle] ?? Infinity) <= step) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Adds points; a step that is there already is replaced, so that steps re-run after a resume count once. */
export function upsert(series: Series, points: readonly Point[]): Series {
  const steps = [...series.steps];
  const values = [...series.values];
  const min = series.min && [...series.min];
  const max = series.max && [...series.max];
  for (const { step, value } of points) {
    const before = indexAtOrBefore(steps, step);
    const replaces = before >= 0 && steps[before] === step ? 1 : 0;
    const at = replaces ? before : before + 1;
    steps.splice(at, replaces, step);
    values.splice(at, replaces, value);
    min?.splice(at, replaces, value);
    max?.splice(at, replaces, value);
  }
  return { steps, values, min, max };
}

export function lastValue(series: Series | undefined): number | null {
  return series?.values.at(-1) ?? null;
}
