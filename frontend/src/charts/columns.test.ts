import { describe, expect, test } from "vitest";
import { breakGaps, cadence, smooth } from "@/charts/columns";

const series = (steps: number[], values: number[]) => ({ steps, values, min: null, max: null });

describe("smooth", () => {
  test("weight 0 is the values themselves", () => {
    expect(smooth([1, 5, 2], 0)).toEqual([1, 5, 2]);
  });

  test("is debiased: a constant stays where it is from the first point on", () => {
    smooth([3, 3, 3], 0.9).forEach((value) => expect(value).toBeCloseTo(3, 12));
  });

  test("by hand: weight 0.5 over 0, 1 is (0.5·0.5·0 + 0.5·1) ÷ 0.75", () => {
    expect(smooth([0, 1], 0.5)[1]).toBeCloseTo(2 / 3, 12);
  });

  test("neither draws in a gap nor carries the average over it", () => {
    expect(smooth([0, 0, null, 10], 0.9)).toEqual([0, 0, null, 10]);
  });
});

describe("gaps", () => {
  test("cadence is the usual distance", () => {
    expect([cadence([1, 2, 3, 9]), cadence([10, 20, 30]), cadence([4])]).toEqual([1, 10, 1]);
  });

  test("a hole in a dense series is broken", () => {
    const { steps, values } = breakGaps(series([1, 2, 3, 7, 8], [1, 2, 3, 7, 8]));
    expect(steps).toEqual([1, 2, 3, 3.5, 7, 8]);
    expect(values).toEqual([1, 2, 3, null, 7, 8]);
  });

  test("buckets of uneven width leave no holes; a missing stretch does", () => {
    const buckets = { steps: [1, 2, 4, 5, 7, 8, 20, 21], values: [1, 1, 1, 1, 1, 1, 1, 1], min: [], max: [] };
    expect(breakGaps(buckets).values.filter((value) => value === null)).toHaveLength(1);
  });

  test("a metric measured every ten steps has no holes", () => {
    expect(breakGaps(series([10, 20, 30], [1, 2, 3])).values).toEqual([1, 2, 3]);
  });
});
