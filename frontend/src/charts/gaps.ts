import type { Series } from "@/charts/series";

/** A series with `null` where a gap is. */
export interface Broken {
  readonly steps: number[];
  readonly values: (number | null)[];
  readonly min: (number | null)[] | null;
  readonly max: (number | null)[] | null;
}

/** The usual distance between two points of a series: 1 for most, 10 for one that is measured every ten steps. */
export function cadence(steps: readonly number[]): number {
  const distances = steps.slice(1).map((step, index) => step - (steps[index] ?? 0));
  distances.sort((a, b) => a - b);
  return distances[distances.length >> 1] ?? 1;
}

/** Puts a `null` into every hole, so that no line is drawn, or smoothed, across it. */
export function breakGaps(series: Series): Broken {
  const usual = cadence(series.steps);
  // Buckets of one series may differ by a step in width, so that 1 and 2 stand side by side without a hole.
  const hole = (series.min ? 2.5 : 1.5) * usual;
  const broken: Broken = { steps: [], values: [], min: series.min && [], max: series.max && [] };
  series.steps.forEach((step, index) => {
    const previous = series.steps[index - 1];
    if (previous !== undefined && step - previous > hole) push(broken, previous + usual / 2, null, null, null);
    const value = series.values[index] ?? null;
    push(broken, step, value, series.min?.[index] ?? value, series.max?.[index] ?? value);
  });
  return broken;
}

function push(broken: Broken, step: number, value: number | null, min: number | null, max: number | null): void {
  broken.steps.push(step);
  broken.values.push(value);
  broken.min?.push(min);
  broken.max?.push(max);
}
