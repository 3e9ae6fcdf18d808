import { describe, expect, test } from "vitest";
import { cadence } from "@/charts/cadence";
import { toColumns, toRows } from "@/charts/columns";
import { type Series } from "@/charts/series";

const series = (steps: number[], values: number[]): Series => ({ steps, values, min: null, max: null });
const line = (key: string, one: Series) => ({ key, label: key, series: one });
const NONE = { weight: 0, average: "exponential", extent: 0 } as const;

describe("gaps", () => {
  test("cadence is the usual distance", () => {
    expect([cadence([1, 2, 3, 9]), cadence([10, 20, 30]), cadence([4])]).toEqual([1, 10, 1]);
  });

  test("a hole in a dense series is broken", () => {
    const [steps, values] = toRows(series([1, 2, 3, 7, 8], [1, 2, 3, 7, 8]), null).rows;
    expect(steps).toEqual([1, 2, 3, 3.5, 7, 8]);
    expect(values).toEqual([1, 2, 3, null, 7, 8]);
  });

  test("buckets of uneven width leave no holes; a missing stretch does", () => {
    const buckets = { steps: [1, 2, 4, 5, 7, 8, 20, 21], values: [1, 1, 1, 1, 1, 1, 1, 1], min: [], max: [] };
    expect(toRows(buckets, null).rows[1].filter((value) => value === null)).toHaveLength(1);
  });

  test("buckets before many newer points leave no holes; a missing stretch among them does", () => {
    const buckets = { steps: [4, 8, 12, 24, 28], n: [4, 4, 4, 4, 4] };
    const points = { steps: [29, 30, 31, 32, 33, 34, 35], n: [1, 1, 1, 1, 1, 1, 1] };
    const steps = [...buckets.steps, ...points.steps];
    const rows = { steps, values: steps, min: steps, max: steps, mean: steps, n: [...buckets.n, ...points.n] };
    expect(toRows(rows, null).rows[1]).toEqual([4, 8, 12, null, 24, 28, ...points.steps]);
  });

  test("a metric measured every ten steps has no holes", () => {
    expect(toRows(series([10, 20, 30], [1, 2, 3]), null).rows[1]).toEqual([1, 2, 3]);
  });
});

describe("columns", () => {
  test("lines with the same steps share them", () => {
    const { columns, data } = toColumns([line("a", series([1, 2], [3, 4])), line("b", series([1, 2], [5, 6]))], NONE);
    expect(data).toEqual([[1, 2], [3, 4], [5, 6]]); // prettier-ignore
    expect(columns).toEqual([{ line: 0, role: "line" }, { line: 1, role: "line" }]); // prettier-ignore
  });

  test("lines with different steps are joined without gaps", () => {
    const { data } = toColumns([line("a", series([1, 2, 3], [1, 2, 3])), line("b", series([2], [9]))], NONE);
    expect(data).toEqual([[1, 2, 3], [1, 2, 3], [undefined, 9, undefined]]); // prettier-ignore
  });

  test("a bucket is drawn at its mean, between its least and greatest value", () => {
    const buckets = { steps: [4, 8], values: [1, 1], min: [0, 0], max: [9, 9], mean: [2, 3], n: [4, 4] };
    const { columns, data } = toColumns([line("a", buckets)], NONE);
    expect(columns.map((column) => column.role)).toEqual(["line", "max", "min"]);
    expect(data).toEqual([[4, 8], [2, 3], [9, 9], [0, 0]]); // prettier-ignore
  });

  test("a smoothed line keeps the raw one under it", () => {
    const { columns, data } = toColumns([line("a", series([1, 2, 3, 4], [0, 1, 0, 1]))], {
      weight: 0.5,
      average: "exponential",
      extent: 3,
    });
    expect(columns.map((column) => column.role)).toEqual(["line", "raw"]);
    expect(data[1]?.[1]).toBeCloseTo(2 / 3, 12);
    expect(data[2]).toEqual([0, 1, 0, 1]);
  });

  test("values of a metric as positions are put in order", () => {
    const along = Object.assign((step: number) => [NaN, 0.5, 0.2, 0.5][step] ?? NaN, { scattered: true });
    const { data } = toColumns([{ ...line("a", series([0, 1, 2, 3], [9, 4, 1, 8])), along }], NONE);
    expect(data).toEqual([[0.2, 0.5], [1, 6]]); // prettier-ignore
  });

  test("a mean that is on the axis already has no holes", () => {
    const { data } = toColumns([{ ...line("a", series([1, 2, 3, 90], [1, 2, 3, 4])), placed: true }], NONE);
    expect(data[1]).toEqual([1, 2, 3, 4]);
  });

  test("positions follow the axis", () => {
    expect(
      toColumns([{ ...line("a", series([1, 2], [3, 4])), along: (step: number) => step * 10 }], NONE).data[0],
    ).toEqual([10, 20]);
  });
});
