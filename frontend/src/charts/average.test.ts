import { expect, it } from "vitest";
import { average, withoutBand } from "@/charts/average";

const series = (steps: number[], values: number[]) => ({ steps, values, min: null, max: null });

it("has the mean and the 95 % interval of the runs", () => {
  // Step 1: 1, 2, 3 → mean 2, s = 1, and t of 2 degrees of freedom is 4.303: 2 ± 4.303 / √3. Step 2: 4, 4, 4.
  const found = average([series([1, 2], [1, 4]), series([1, 2], [2, 4]), series([1, 2], [3, 4])]);
  expect(found.steps).toEqual([1, 2]);
  expect(found.values).toEqual([2, 4]);
  expect(found.min?.[0]).toBeCloseTo(2 - 2.4843, 3);
  expect(found.max?.[0]).toBeCloseTo(2 + 2.4843, 3);
  expect([found.min?.[1], found.max?.[1]]).toEqual([4, 4]);
});

it("ends with the run that ends first", () =>
  expect(average([series([1, 2, 3], [0, 0, 0]), series([1, 2], [2, 2])]).steps).toEqual([1, 2]));

it("interpolates between the buckets of a long run", () =>
  expect(average([series([10, 20, 30], [1, 2, 3]), series([10, 30], [1, 3])]).values).toEqual([1, 2, 3]));

it("is the run itself where there is one", () => {
  const one = series([1], [5]);
  expect(average([one, series([], [])])).toBe(one);
});

it("leaves out the band, as the same object each time", () => {
  const one = { ...series([4], [5]), min: [1], max: [9], mean: [5], n: [4] };
  expect(withoutBand(one)).toEqual({ steps: [4], values: [5], min: null, max: null, mean: [5], n: [4] });
  expect(withoutBand(one)).toBe(withoutBand(one));
});
