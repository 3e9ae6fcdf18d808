import type { Series } from "@/charts/series";

/** Kind of the moving average. */
export type Average = "exponential" | "running";

/** How many units a running average with the strength of an exponential one looks back, from 1 on. */
export const windowOf = (weight: number): number => Math.round(1 / (1 - weight));

/** The mean of the values in a window of `length` that ends at each position. A gap, `null`, begins it anew. */
export function runningMean(
  positions: readonly number[],
  values: readonly (number | null)[],
  length: number,
): (number | null)[] {
  let first = 0;
  return values.map((value, index) => {
    if (value === null) {
      first = index + 1;
      return null;
    }
    const begin = (positions[index] ?? 0) - length;
    while (first < index && (positions[first] ?? 0) <= begin) first++;
    // Summed anew, because taking a large value out of a sum leaves an error in it.
    let sum = 0;
    for (let at = first; at <= index; at++) sum += values[at] ?? 0;
    return sum / (index - first + 1);
  });
}

/**
 * Exponential moving average over positions that may be uneven, debiased so that the first values are not pulled towards 0.
 *
 * A value counts `weight` of its share after a distance of `unit`, and `weight`² after twice that. So the points of a series and the
 * wider buckets of the same series give nearly the same line. `null` marks a gap. Nothing is drawn there, and the
 * average starts again after it.
 */
export function smooth(
  positions: readonly number[],
  values: readonly (number | null)[],
  weight: number,
  unit: number,
): (number | null)[] {
  const smoothed = new Array<number | null>(values.length).fill(null);
  let sum = 0;
  let norm = 0;
  let before = 0;
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? null;
    const position = positions[index] ?? 0;
    if (value === null) {
      sum = norm = 0;
      continue;
    }
    const kept = norm === 0 ? weight : weight ** Math.max(0, (position - before) / unit);
    sum = kept * sum + (1 - kept) * value;
    norm = kept * norm + (1 - kept);
    before = position;
    smoothed[index] = norm > 0 ? sum / norm : value;
  }
  return smoothed;
}

/** Positions for a moving average in which each bucket counts as one of its points. `rows` are the steps, and holes between. */
export function pointwise(rows: readonly number[], { steps, n }: Pick<Series, "steps" | "n">): readonly number[] {
  if (!n) return rows;
  let found = 0;
  let at = steps[0] ?? 0;
  return rows.map((row) => {
    if (row !== steps[found]) return at;
    at += found ? (row - (steps[found - 1] ?? row)) / (n[found] ?? 1) : 0;
    found++;
    return at;
  });
}
