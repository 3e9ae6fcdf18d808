import { describe, expect, test } from "vitest";
import { bounded, continued, emptySeries, fromStepOne, indexAtOrBefore, type Series, upsert } from "@/charts/series";

const points = (...pairs: [number, number][]) => pairs.map(([step, value]) => ({ step, value }));

describe("upsert", () => {
  test("appends in order", () => {
    const series = upsert(upsert(emptySeries, points([1, 0.1])), points([2, 0.2], [3, 0.3]));
    expect(series).toEqual({ steps: [1, 2, 3], values: [0.1, 0.2, 0.3], min: null, max: null });
  });

  test("a step that is run again after a resume replaces the old one", () => {
    const series = upsert(upsert(emptySeries, points([1, 0.1], [2, 0.2], [3, 0.3])), points([2, 9]));
    expect(series.steps).toEqual([1, 2, 3]);
    expect(series.values).toEqual([0.1, 9, 0.3]);
  });

  test("a late step lands in its place", () => {
    expect(upsert({ steps: [1, 3], values: [1, 3], min: null, max: null }, points([2, 2])).values).toEqual([1, 2, 3]);
  });

  test("appends without a copy, to a series that is another object", () => {
    const before = upsert(emptySeries, points([1, 1]));
    const after = upsert(before, points([2, 2]));
    expect([after === before, after.values === before.values, after.values]).toEqual([false, true, [1, 2]]);
    expect(emptySeries.steps).toEqual([]);
  });

  test("a replacement leaves the series it was given as it was", () => {
    const series = upsert(emptySeries, points([1, 1]));
    upsert(series, points([1, 5], [2, 2]));
    expect(series.values).toEqual([1]);
  });

  test("a point added to buckets is its own minimum and maximum", () => {
    const buckets = { steps: [10], values: [5], min: [1], max: [9] };
    expect(upsert(buckets, points([11, 4]))).toEqual({ steps: [10, 11], values: [5, 4], min: [1, 4], max: [9, 4] });
  });
});

describe("a finer series of a part", () => {
  const coarse = { steps: [4, 8, 9], values: [4, 8, 9], min: [1, 5, 9], max: [4, 8, 9], mean: [2, 6, 9], n: [4, 4, 1] };

  test("goes on with the rows after it", () => {
    const points = { steps: [6, 7, 8], values: [60, 70, 80], min: null, max: null };
    const steps = [6, 7, 8, 9];
    expect(continued(points, coarse)).toEqual({ steps, values: [60, 70, 80, 9], min: null, max: null });
    const buckets = { steps: [8], values: [8], min: [7], max: [8], mean: [7.5], n: [2] };
    expect(continued(buckets, coarse)).toMatchObject({ steps: [8, 9], mean: [7.5, 9], n: [2, 1] });
  });

  test("stays the same object without such rows", () => {
    const points = { steps: [8, 9], values: [8, 9], min: null, max: null };
    expect(continued(points, coarse)).toBe(points);
  });
});

test("indexAtOrBefore finds the last step that is not later", () => {
  expect([0, 1, 2, 4, 5, 9].map((step) => indexAtOrBefore([1, 2, 5], step))).toEqual([-1, 0, 1, 1, 2, 2]);
});

describe("a series that has grown long", () => {
  const count = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);
  const long = (to: number): Series => ({ steps: count(0, to), values: count(0, to), min: null, max: null });

  test("stays as it is up to 6,000 rows", () => {
    const series = long(6000);
    expect(bounded(series)).toBe(series);
  });

  test("keeps its newest 1,000 rows, and has buckets of 4 steps before them", () => {
    const { steps, values, min, max, mean, n } = bounded(long(6001));
    const row = (at: number) => [steps, values, min, max, mean, n].map((column) => column?.at(at));
    expect([row(0), row(1), row(1250), row(1251), row(-1)]).toEqual([
      [3, 3, 0, 3, 1.5, 4],
      [7, 7, 4, 7, 5.5, 4],
      [5000, 5000, 5000, 5000, 5000, 1],
      [5001, 5001, 5001, 5001, 5001, 1],
      [6000, 6000, 6000, 6000, 6000, 1],
    ]);
    expect(steps.length).toBe(1251 + 1000);
  });

  test("stays bounded, and every point counts once", () => {
    let series = emptySeries;
    let most = 0;
    for (let step = 0; step < 36_000; step++) {
      series = bounded(upsert(series, [{ step, value: step % 8 }]));
      most = Math.max(most, series.steps.length);
    }
    expect(most).toBe(6000);
    expect(series.n?.reduce((sum, points) => sum + points, 0)).toBe(36_000);
    expect([series.min?.[0], series.max?.[0], series.mean?.[0]]).toEqual([0, 7, 3.5]);
    expect(series.steps.at(-1)).toBe(35_999);
  });
});

test("on a logarithmic axis points begin at step 1", () => {
  const points = { steps: [0, 1, 5], values: [7, 8, 9], min: null, max: null };
  expect(fromStepOne(points)).toEqual({ steps: [1, 5], values: [8, 9], min: null, max: null });
  const buckets = { steps: [0, 4], values: [1, 2], min: [0, 1], max: [2, 3], mean: [1, 2], n: [1, 4] };
  expect(fromStepOne(buckets)).toEqual({ steps: [4], values: [2], min: [1], max: [3], mean: [2], n: [4] });
  const later = { steps: [1, 2], values: [1, 2], min: null, max: null };
  expect(fromStepOne(later)).toBe(later);
});
