import { describe, expect, test } from "vitest";
import { smooth } from "@/charts/smooth";

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
