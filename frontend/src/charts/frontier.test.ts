import { expect, test } from "vitest";
import { type FrontierLine, labelAt, labelled, nearestTo, placedIn, ticksWithin } from "@/charts/frontier";

const point = (step: number, x: number, y: number | null) => ({ step, x, y, saved: false });
const line = (key: string, points: FrontierLine["points"], best: number | null = null): FrontierLine => ({
  key,
  label: key,
  colour: 0,
  points,
  best,
});
const box = { left: 0, right: 106, top: 0, bottom: 112 };

test("points of all lines share both axes, with 6 % of room", () => {
  const lines = [line("a", [point(1, 0, 0), point(2, 1, 1)], 2), line("b", [point(1, 2, null), point(2, 0.5, 0.5)])];
  const { placed } = placedIn(box, lines, { x: 4, y: 4 });
  // x: 0 to 1.06 over 106 pixels. y: -0.06 to 1.06 over 112 pixels.
  const [a, b] = placed.map((points) => points.map((one) => [one.point, Math.round(one.x), Math.round(one.y)]));
  expect(a).toEqual([
    [0, 0, 106],
    [1, 100, 6],
  ]);
  expect(b).toEqual([[1, 50, 56]]);
  expect(nearestTo(placed, 60, 50)).toMatchObject({ line: 1, point: 1, step: 2 });
  expect(nearestTo([], 0, 0)).toBeNull();
});

test("the best point is labelled, and others where there is room", () => {
  const wide = { left: 0, right: 424, top: 0, bottom: 100 };
  const { placed } = placedIn(wide, [line("a", [point(1, 0, 0), point(2, 1, 1), point(3, 4, 1)], 2)], { x: 4, y: 4 });
  expect(labelled(placed[0] ?? []).map(({ step }) => step)).toEqual([2, 1, 3]);
});

test("a label lies where no point is under its text", () => {
  const place = { line: 0, point: 0, step: 1, saved: false, best: false };
  const area = { left: 0, right: 400, top: 14, bottom: 180 };
  const own = { ...place, x: 100, y: 100 };
  expect(labelAt("step 1", own, [own], area)).toEqual({ x: 102, y: 90, anchor: "start" });
  expect(labelAt("step 1", own, [own, { ...place, x: 120, y: 85 }], area)).toEqual({ x: 102, y: 120, anchor: "start" });
  // A line to the upper right passes the text above the point.
  expect(labelAt("step 1", own, [own, { ...place, x: 180, y: 40 }], area)).toEqual({ x: 102, y: 120, anchor: "start" });
  const last = { ...place, x: 390, y: 20 };
  expect(labelAt("step 1", last, [last], area)).toEqual({ x: 388, y: 40, anchor: "end" });
});

test("ticks are round and within the range", () => {
  expect(ticksWithin(0, 3.2, 4)).toEqual([0, 1, 2, 3]);
  expect(ticksWithin(-0.11, 0.12, 4)).toEqual([-0.1, 0, 0.1]);
  expect(ticksWithin(5, 5, 4)).toEqual([5]);
});
