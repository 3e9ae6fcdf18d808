import { describe, expect, test } from "vitest";
import { toColumns } from "@/charts/columns";
import { named, nearest, readout } from "@/charts/readout";
import { courseOf } from "@/charts/spoken";

const series = (steps: number[], values: number[]) => ({ steps, values, min: null, max: null });

test("nearest finds the closer neighbour, the earlier one in the middle", () => {
  expect([0, 2, 2.4, 2.5, 2.6, 9].map((position) => nearest([1, 2, 3], position))).toEqual([0, 1, 1, 1, 2, 2]);
  expect(nearest([], 1)).toBe(-1);
});

test("a legend names every line, or of many the highest and the lowest", () => {
  expect(named([1, null, 3])).toEqual([0, 1, 2]);
  expect(named([4, null, 9, 2, 5, 6, 7, 8, 3])).toEqual([2, 3]);
});

test("a course is the first, the last, the lowest and the highest of the drawn values", () => {
  const line = { key: "a", label: "a", series: series([1, 2, 3, 4], [2, 5, -1, 3]) };
  const chart = toColumns([line, { ...line, series: series([], []) }], {
    weight: 0,
    average: "exponential",
    extent: 3,
  });
  expect(courseOf(chart, 0)).toEqual({ first: 2, last: 3, low: -1, high: 5 });
  expect(courseOf(chart, 1)).toBeNull();
});

describe("readout", () => {
  const dense = { key: "a", label: "a", series: series([1, 2, 3, 4], [0, 1, 0, 1]) };
  const sparse = { key: "b", label: "b", series: series([2], [9]) };

  test("is the smoothed value that is drawn, with the raw one beside it", () => {
    const chart = toColumns([dense], { weight: 0.5, average: "exponential", extent: 3 });
    const found = readout(chart, 0, 2);
    expect(found?.value).toBe(chart.data[1]?.[1]);
    expect(found?.value).toBeCloseTo(2 / 3, 12);
    expect(found?.raw).toBe(1);
  });

  test("without a position it is the newest point", () => {
    const chart = toColumns([dense, sparse], { weight: 0, average: "exponential", extent: 3 });
    expect(readout(chart, 0, null)).toEqual({ index: 3, position: 4, value: 1, raw: null });
    expect(readout(chart, 1, null)).toEqual({ index: 1, position: 2, value: 9, raw: null });
  });

  test("a line that begins later has none", () => {
    const chart = toColumns([dense, sparse], { weight: 0, average: "exponential", extent: 3 });
    expect(readout(chart, 1, 1)).toBeNull();
  });

  test("a gap has none", () => {
    const chart = toColumns([{ ...dense, series: series([1, 2, 3, 9], [1, 2, 3, 4]) }], {
      weight: 0,
      average: "exponential",
      extent: 8,
    });
    expect(readout(chart, 0, 3.6)).toBeNull();
  });
});
