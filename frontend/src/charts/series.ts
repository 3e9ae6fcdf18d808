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

/** A series as the server sends it: points, or buckets with their last, least and greatest value. */
export interface SentSeries {
  readonly steps: readonly number[];
  readonly values?: readonly number[] | null | undefined;
  readonly last?: readonly number[] | null | undefined;
  readonly min?: readonly number[] | null | undefined;
  readonly max?: readonly number[] | null | undefined;
  readonly mean?: readonly number[] | null | undefined;
  readonly n?: readonly number[] | null | undefined;
}

export const toSeries = ({ steps, values, last, min, max, mean, n }: SentSeries): Series => ({
  ...{ steps, values: values ?? last ?? [], min: min ?? null, max: max ?? null },
  ...(mean && { mean }),
  ...(n && { n }),
});

export interface Point {
  readonly step: number;
  readonly value: number;
}

export const emptySeries: Series = { steps: [], values: [], min: null, max: null };

/** The points that have a place on a logarithmic axis: those from step 1 on. The series itself where these are all. */
export function fromStepOne(series: Series): Series {
  const first = indexAtOrBefore(series.steps, 0) + 1;
  if (first === 0) return series;
  const { steps, values, min, max, mean, n } = series;
  return {
    steps: steps.slice(first),
    values: values.slice(first),
    min: min && min.slice(first),
    max: max && max.slice(first),
    ...(mean && { mean: mean.slice(first) }),
    ...(n && { n: n.slice(first) }),
  };
}

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

/** Rows that a series holds at most. A chart of a live run draws that many within a frame. */
const MOST_ROWS = 6000;
/** The newest rows stay as they are, so that the end of a line shows every step. */
const NEWEST_ROWS = 1000;
const MOST_BUCKETS = 2000;
const FACTOR = 4;

/** The series, or a smaller one in place of one that has grown long: its older rows in buckets of 4, 16, 64, … steps. */
export function bounded(series: Series): Series {
  const { steps } = series;
  if (steps.length <= MOST_ROWS) return series;
  const older = steps.length - NEWEST_ROWS;
  let width = FACTOR;
  while (bucketCount(steps, older, width) > MOST_BUCKETS) width *= FACTOR;
  return inBuckets(series, older, width);
}

const bucketAt = (steps: readonly number[], index: number, width: number) => Math.floor((steps[index] ?? 0) / width);

function bucketCount(steps: readonly number[], end: number, width: number): number {
  let found = 1;
  for (let index = 1; index < end; index++)
    if (bucketAt(steps, index, width) !== bucketAt(steps, index - 1, width)) found++;
  return found;
}

/** The rows before index `end` in buckets of `width` steps, as the server makes them, and the others as they are. */
function inBuckets(series: Series, end: number, width: number): Series {
  const from = allColumns(series);
  const to = { steps: [], values: [], min: [], max: [], mean: [], n: [] } as Record<keyof typeof from, number[]>;
  const put = (at: number, column: keyof typeof from, index: number, merge: (a: number, b: number) => number) => {
    const value = from[column][index] ?? 0;
    to[column][at] = at < to[column].length ? merge(to[column][at] ?? value, value) : value;
  };
  for (let index = 0; index < from.steps.length; index++) {
    const isSame =
      index > 0 && index < end && bucketAt(from.steps, index, width) === bucketAt(from.steps, index - 1, width);
    const at = to.n.length - (isSame ? 1 : 0);
    const share = (from.n[index] ?? 1) / ((to.n[at] ?? 0) + (from.n[index] ?? 1));
    put(at, "steps", index, (_, step) => step);
    put(at, "values", index, (_, last) => last);
    put(at, "min", index, Math.min);
    put(at, "max", index, Math.max);
    put(at, "mean", index, (mean, later) => mean * (1 - share) + later * share);
    put(at, "n", index, (n, later) => n + later);
  }
  return to;
}

/** The finer series, and the rows of the other one after it: the points that have arrived since it was fetched. */
export function continued(finer: Series, by: Series): Series {
  const from = indexAtOrBefore(by.steps, finer.steps.at(-1) ?? -Infinity) + 1;
  if (from === by.steps.length) return finer;
  const [before, after] = [allColumns(finer), allColumns(by)];
  const join = (column: keyof typeof before) => [...before[column], ...after[column].slice(from)];
  const steps = join("steps");
  if (!finer.min) return { steps, values: join("mean"), min: null, max: null };
  return { steps, values: join("values"), min: join("min"), max: join("max"), mean: join("mean"), n: join("n") };
}

export const allColumns = ({ steps, values, min, max, mean, n }: Series) => ({
  ...{ steps, values, min: min ?? values, max: max ?? values, mean: mean ?? values },
  n: n ?? steps.map(() => 1),
});

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
