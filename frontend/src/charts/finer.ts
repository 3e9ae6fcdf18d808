import type { Range } from "@/charts/axis";
import { allColumns, indexAtOrBefore, type Series } from "@/charts/series";

/** Steps at the start of a long run that a logarithmic axis shows one by one. */
export const HEAD_STEPS = 1000;

/** A series in buckets, with a finer one of a part of its steps in the place of the buckets there. */
export function withFiner(finer: Series | undefined, series: Series): Series {
  const [first, last] = [finer?.steps[0], finer?.steps.at(-1)];
  if (!series.min || !finer || first === undefined || last === undefined) return series;
  const start = indexAtOrBefore(series.steps, first - 1) + 1;
  const end = indexAtOrBefore(series.steps, last) + 1;
  const [part, whole] = [allColumns(finer), allColumns(series)];
  const join = (column: keyof typeof part) => [
    ...whole[column].slice(0, start),
    ...part[column],
    ...whole[column].slice(end),
  ];
  return {
    ...{ steps: join("steps"), values: join("values"), min: join("min"), max: join("max") },
    ...{ mean: join("mean"), n: join("n") },
  };
}

/** A part that holds all of `steps`. Its ends lie on a grid as wide as `steps`, so small moves do not change it. */
export function partAround({ from, to }: Range): Range {
  const width = 2 ** Math.ceil(Math.log2(Math.max(1, to - from)));
  return { from: Math.max(0, Math.floor(from / width) * width), to: Math.max(0, Math.ceil(to / width) * width) };
}
