/**
 * One metric over steps, ascending. Where the server sent buckets instead of points, `values` holds the last value of each
 * bucket. `min`, `max`, `mean` and `n` then hold its least and greatest value, its mean and the number of its points.
 */
export interface Series {
  readonly steps: readonly number[];
  readonly values: readonly number[];
  readonly min: readonly number[] | null;
  readonly max: readonly number[] | null;
  readonly mean?: readonly number[] | null;
  readonly n?: readonly number[] | null;
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

/**
 * Adds points. A step that is there already is replaced, so that steps run again after a resume count once.
 *
 * Points after the last step are appended to the arrays of `series` itself, without a copy: use only the result from
 * then on. The result is a new object, so that it can be compared by identity.
 */
export function upsert(series: Series, points: readonly Point[]): Series {
  const grown = isAppend(series, points) ? owned(series) : copied(series);
  for (const { step, value } of points) {
    const before = indexAtOrBefore(grown.steps, step);
    const replaces = before >= 0 && grown.steps[before] === step ? 1 : 0;
    const at = replaces ? before : before + 1;
    put(grown.steps, at, replaces, step);
    put(grown.values, at, replaces, value);
    if (grown.min) put(grown.min, at, replaces, value);
    if (grown.max) put(grown.max, at, replaces, value);
    if (grown.mean) put(grown.mean, at, replaces, value);
    if (grown.n) put(grown.n, at, replaces, 1);
  }
  return grown;
}

/** Whether the points only continue the series. */
export function isAppend({ steps }: Series, points: readonly Point[]): boolean {
  const last = steps.at(-1) ?? -Infinity;
  return points.every(({ step }, index) => step > (points[index - 1]?.step ?? last));
}

interface Grown {
  readonly steps: number[];
  readonly values: number[];
  readonly min: number[] | null;
  readonly max: number[] | null;
  readonly mean?: number[] | null;
  readonly n?: number[] | null;
}

/** The arrays of a series that this page has built: they are its own, whatever the readers may do with them. */
const owned = (series: Series): Grown => (series.steps.length ? { ...(series as Grown) } : copied(series));

const copied = ({ steps, values, min, max, mean, n }: Series): Grown => ({
  steps: [...steps],
  values: [...values],
  min: min && [...min],
  max: max && [...max],
  ...(mean && { mean: [...mean] }),
  ...(n && { n: [...n] }),
});

function put(list: number[], at: number, replaces: number, value: number): void {
  if (at === list.length) list.push(value);
  else list.splice(at, replaces, value);
}

export function lastValue(series: Series | undefined): number | null {
  return series?.values.at(-1) ?? null;
}
