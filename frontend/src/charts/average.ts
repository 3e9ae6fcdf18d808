import { indexAtOrBefore, type Series } from "@/charts/series";

/** The 97.5 % quantiles of Student's t for 1, 2, … degrees of freedom. */
const T = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11,
  2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];
const tQuantile = (freedom: number): number => T[freedom - 1] ?? 1.96 + 2.42 / freedom;

/** The mean of at least two values, and half of its 95 % interval: t · s / √n. */
export function meanWithInterval(values: readonly number[]): { mean: number; half: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, half: tQuantile(values.length - 1) * Math.sqrt(squares / (values.length - 1) / values.length) };
}

/**
 * The mean of several runs with its 95 % interval as the band: ± t · s / √n over the runs, as the trainer summarises seeds. Its
 * steps are those of the first run that all runs have reached. Between its points a run is interpolated linearly, since long
 * runs come as buckets.
 */
export function average(runs: readonly Series[]): Series {
  const [first, ...others] = runs.filter(({ steps }) => steps.length > 0);
  if (!first || !others.length) return first ?? { steps: [], values: [], min: null, max: null };
  const all = [first, ...others];
  const from = Math.max(...all.map(({ steps }) => steps[0] ?? 0));
  const to = Math.min(...all.map(({ steps }) => steps.at(-1) ?? 0));
  const steps = first.steps.filter((step) => step >= from && step <= to);
  const values: number[] = [];
  const min: number[] = [];
  const max: number[] = [];
  for (const step of steps) {
    const found = all.map((series) => at(series, step));
    const { mean, half } = meanWithInterval(found);
    values.push(mean);
    min.push(mean - half);
    max.push(mean + half);
  }
  return { steps, values, min, max };
}

const BARE = new WeakMap<Series, Series>();

/** The same series without its band: the same object each time, so that its chart is not drawn again. */
export function withoutBand(series: Series): Series {
  const bare = BARE.get(series) ?? { ...series, min: null, max: null };
  BARE.set(series, bare);
  return bare;
}

function at({ steps, values: last, mean }: Series, step: number): number {
  const values = mean ?? last;
  const index = indexAtOrBefore(steps, step);
  const [before = step, after = before] = [steps[index], steps[index + 1]];
  const low = values[index] ?? Number.NaN;
  if (before === step || after === before) return low;
  const share = (step - before) / (after - before);
  return low + share * ((values[index + 1] ?? low) - low);
}
