import { expect, test } from "vitest";
import { bars, placeOf } from "@/features/datasets/model/bars";

const lengths = { edges: [0, 10, 20, 900], counts: [5, 20, 0] };

test("each bar is as high as its count", () => {
  expect(bars(lengths)).toEqual([
    { from: 0, to: 10, count: 5, height: 0.25 },
    { from: 10, to: 20, count: 20, height: 1 },
    { from: 20, to: 900, count: 0, height: 0 },
  ]);
});

test("one row among a million is still to be seen", () => {
  expect(bars({ edges: [0, 1, 2], counts: [1_000_000, 1] })[1]?.height).toBeGreaterThan(0.01);
});

test.each([
  [0, 0],
  [15, 0.5],
  [900, 1],
  [901, null],
])("the value %i stands at %s", (value, place) => expect(placeOf(value, lengths)).toBe(place));

test("no bars, and one of no width, have a place for nothing and for their value", () => {
  expect([bars({ edges: [], counts: [] }), placeOf(1, { edges: [], counts: [] })]).toEqual([[], null]);
  expect(placeOf(7, { edges: [7, 7], counts: [3] })).toBe(0);
});
