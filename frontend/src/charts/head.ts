import { allColumns, indexAtOrBefore, type Series } from "@/charts/series";

/** Steps at the start of a long run that a logarithmic axis shows one by one. */
export const HEAD_STEPS = 1000;

/** A series in buckets with the points of its first steps, `head`, in place of its first buckets. */
export function withHead(head: Series | undefined, series: Series): Series {
  if (!series.min || !head?.steps.length) return series;
  const from = indexAtOrBefore(series.steps, head.steps.at(-1) ?? 0) + 1;
  const [before, after] = [allColumns(head), allColumns(series)];
  const join = (column: keyof typeof before) => [...before[column], ...after[column].slice(from)];
  return {
    ...{ steps: join("steps"), values: join("values"), min: join("min"), max: join("max") },
    ...{ mean: join("mean"), n: join("n") },
  };
}
