import { describe, expect, test } from "vitest";
import { pointwise, runningMean, smooth, windowOf } from "@/charts/smooth";

describe("smooth", () => {
  test("is debiased: a constant stays where it is from the first point on", () => {
    smooth([1, 2, 3], [3, 3, 3], 0.9, 1).forEach((value) => expect(value).toBeCloseTo(3, 12));
  });

  test("by hand: weight 0.5 over 0, 1 is (0.5·0.5·0 + 0.5·1) ÷ 0.75", () => {
    expect(smooth([1, 2], [0, 1], 0.5, 1)[1]).toBeCloseTo(2 / 3, 12);
  });

  test("by hand: after two units an earlier value keeps 0.5² of its weight", () => {
    // (0.25·0.5·0 + 0.75·1) ÷ (0.25·0.5 + 0.75)
    expect(smooth([1, 3], [0, 1], 0.5, 1)[1]).toBeCloseTo(0.75 / 0.875, 12);
  });

  test("points and buckets of four steps end at nearly the same value", () => {
    const steps = Array.from({ length: 400 }, (_, index) => index + 1);
    const values = steps.map((step) => Math.sin(step / 60));
    const ends = steps.filter((step) => step % 4 === 0);
    const means = ends.map((end) => values.slice(end - 4, end).reduce((sum, value) => sum + value, 0) / 4);
    const fine = smooth(steps, values, 0.9, 1).at(-1) ?? NaN;
    const coarse = smooth(ends, means, 0.9, 1).at(-1) ?? NaN;
    expect(Math.abs(fine - coarse)).toBeLessThan(0.01);
  });

  test("neither draws in a gap nor carries the average over it", () => {
    expect(smooth([1, 2, 3, 4], [0, 0, null, 10], 0.9, 1)).toEqual([0, 0, null, 10]);
  });

  test("two points at one position do not divide by zero", () => {
    expect(smooth([5, 5], [1, 2], 0.5, 1)).toEqual([1, 1]);
  });
});

describe("runningMean", () => {
  test("by hand: the mean of the last three points, fewer at the beginning", () => {
    expect(runningMean([1, 2, 3, 4, 5], [3, 5, 1, 6, 8], 3)).toEqual([3, 4, 3, 4, 5]);
  });

  test("looks back a distance, not a number of points", () => {
    expect(runningMean([1, 2, 10, 11], [2, 4, 6, 8], 3)).toEqual([2, 3, 6, 7]);
  });

  test("neither draws in a gap nor averages over it", () => {
    expect(runningMean([1, 2, 3, 4], [0, 2, null, 10], 3)).toEqual([0, 1, null, 10]);
  });

  test("a spike leaves no error behind", () => {
    expect(runningMean([1, 2, 3, 4], [1e300, 1, 2, 3], 2)).toEqual([1e300, 5e299, 1.5, 2.5]);
  });

  test("a weight of 0.9 looks back ten points, one of 0.99 a hundred", () => {
    expect([0.5, 0.9, 0.99].map(windowOf)).toEqual([2, 10, 100]);
  });
});

test("a bucket counts as one point where points are counted", () => {
  expect(pointwise([1, 2, 3, 7, 11], { steps: [1, 2, 3, 7, 11], n: [1, 1, 1, 4, 4] })).toEqual([1, 2, 3, 4, 5]);
  expect(pointwise([4, 6, 12], { steps: [4, 12], n: [4, 4] })).toEqual([4, 4, 6]);
  expect(pointwise([10, 60], { steps: [10, 60] })).toEqual([10, 60]);
});
