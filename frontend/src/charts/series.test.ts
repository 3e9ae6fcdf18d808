import { describe, expect, test } from "vitest";
import { emptySeries, indexAtOrBefore, upsert } from "@/charts/series";

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

test("indexAtOrBefore finds the last step that is not later", () => {
  expect([0, 1, 2, 4, 5, 9].map((step) => indexAtOrBefore([1, 2, 5], step))).toEqual([-1, 0, 1, 1, 2, 2]);
});
