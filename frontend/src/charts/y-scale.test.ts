import { describe, expect, test } from "vitest";
import { axisRange, drawnScale, linearUntil, logTicks, numbersOf, withoutOutliers } from "@/charts/y-scale";

test("log falls back to symlog where a value is not positive", () => {
  expect([drawnScale("log", [1, 2]), drawnScale("log", [1, 0]), drawnScale("linear", [-1])]).toEqual([
    "log",
    "symlog",
    "linear",
  ]);
});

describe("outliers", () => {
  test("a spike among 100 values is left outside", () => {
    const values = Array.from({ length: 100 }, (_, index) => index / 100);
    values[50] = 1e6;
    expect(withoutOutliers(values)).toEqual([0.02, 0.98]);
  });

  test("a spike among ten values is left outside", () => {
    expect(withoutOutliers([1, 2, 3, 4, 5, 6, 7, 8, 9, 1000])).toEqual([2, 9]);
  });

  test("two values are both kept", () => {
    expect([withoutOutliers([1, 100]), withoutOutliers([])]).toEqual([[1, 100], null]);
  });
});

test("numbers of a column leave gaps out", () => {
  expect([...numbersOf([[1, 2, 3, 4], [5, null, undefined, 8]], 1, 1)]).toEqual([8]); // prettier-ignore
});

test("symlog is linear up to the power of ten below the small values", () => {
  expect([linearUntil([0, -0.05, 0.3, 700]), linearUntil([0]), linearUntil([40, 50])]).toEqual([0.01, 1, 10]);
});

test("ranges hold the values", () => {
  const [least, greatest] = axisRange("log", [2.3, 200]);
  expect([least, greatest].map((bound) => Number(bound.toFixed(6)))).toEqual([2, 230]);
  expect(axisRange("symlog", [-10, 100])).toEqual([-10.5, 105]);
  const [low, high] = axisRange("linear", [1, 2]);
  expect(low < 1 && high > 2).toBe(true);
});

test("ticks of a logarithmic axis are 1, 2 and 5 of each decade, on a short axis even", () => {
  expect(logTicks(0.4, 30, 0.1)).toEqual([0.5, 1, 2, 5, 10, 20]);
  expect(logTicks(-15, 2, 1)).toEqual([-10, -5, -2, -1, 0, 1, 2]);
  expect(logTicks(0.62, 0.98, 0.1).map((tick) => Number(tick.toFixed(6)))).toEqual([0.7, 0.8, 0.9]);
});
