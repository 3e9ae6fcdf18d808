import { expect, test } from "vitest";
import { extentOf, firstStep } from "@/charts/extent";
import { partAround, withFiner } from "@/charts/finer";

const BUCKETS = {
  steps: [4, 8, 12],
  values: [4, 8, 12],
  min: [1, 5, 9],
  max: [4, 8, 12],
  mean: [2.5, 6.5, 10.5],
  n: [4, 4, 4],
};
const points = (steps: number[]) => ({ steps, values: steps, min: null, max: null });

test("the first steps take the place of the first buckets", () => {
  const whole = withFiner(points([1, 2, 3, 4, 5]), BUCKETS);
  expect(whole.steps).toEqual([1, 2, 3, 4, 5, 8, 12]);
  expect(whole.mean).toEqual([1, 2, 3, 4, 5, 6.5, 10.5]);
  expect(whole.min).toEqual([1, 2, 3, 4, 5, 5, 9]);
  expect(whole.n).toEqual([1, 1, 1, 1, 1, 4, 4]);
});

test("a series of points, or without its first steps, stays as it is", () => {
  const short = points([1, 2]);
  expect(withFiner(points([1]), short)).toBe(short);
  expect(withFiner(undefined, BUCKETS)).toBe(BUCKETS);
});

test("finer buckets take the place of those of their steps, and the others stay", () => {
  const finer = { steps: [6, 8], values: [6, 8], min: [5, 7], max: [6, 8], mean: [5.5, 7.5], n: [2, 2] };
  const whole = withFiner(finer, BUCKETS);
  expect(whole.steps).toEqual([4, 6, 8, 12]);
  expect(whole.mean).toEqual([2.5, 5.5, 7.5, 10.5]);
  expect(whole.n).toEqual([4, 2, 2, 4]);
});

test("the part around some steps lies on a grid of powers of two", () => {
  expect(partAround({ from: 500, to: 520 })).toEqual({ from: 480, to: 544 });
  expect(partAround({ from: 505, to: 530 })).toEqual({ from: 480, to: 544 });
  expect(partAround({ from: -3, to: 5 })).toEqual({ from: 0, to: 8 });
  expect(partAround({ from: 7.2, to: 7.4 })).toEqual({ from: 7, to: 8 });
});

test("an axis begins with the first point of the first bucket", () => {
  expect(firstStep(BUCKETS)).toBe(1);
  expect(firstStep(points([7, 8]))).toBe(7);
  expect(extentOf([BUCKETS, points([2, 3])], { positions: null, along: null })).toEqual({ from: 1, to: 12 });
});

test("the extent of an axis of a metric is that of its values", () => {
  const positions = { steps: [1, 2, 3], at: [5, -1, 2], metric: "points" } as const;
  expect(extentOf([points([1, 2, 3])], { positions, along: () => 0 })).toEqual({ from: -1, to: 5 });
  expect(extentOf([points([1])], null)).toBeNull();
});
