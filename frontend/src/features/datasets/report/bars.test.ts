import { expect, test } from "vitest";
import { bars } from "@/features/datasets/report/bars";

test("each bar is as wide as its range and as high as its count", () => {
  const [first, second, third] = bars({ edges: [0, 10, 20, 40], counts: [5, 20, 0] });
  expect(first).toMatchObject({ left: 0, width: 0.25, height: 0.25 });
  expect(second).toMatchObject({ from: 10, to: 20, left: 0.25, height: 1 });
  expect(third).toMatchObject({ left: 0.5, width: 0.5, height: 0 });
});

test("one row among a million is still to be seen", () => {
  expect(bars({ edges: [0, 1, 2], counts: [1_000_000, 1] })[1]?.height).toBeGreaterThan(0.01);
});

test("nothing, and everything of one length, is no division by zero", () => {
  expect(bars({ edges: [], counts: [] })).toEqual([]);
  expect(bars({ edges: [7, 7], counts: [3] })[0]).toMatchObject({ left: 0, width: 0, height: 1 });
});
