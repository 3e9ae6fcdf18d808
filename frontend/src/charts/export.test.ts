import { expect, test } from "vitest";
import { legendPlaces } from "@/charts/export-legend";

test("the names of many lines need several rows of a picture", () => {
  // Each name takes 31 pixels beside its text: 8 + 3 · 131 = 401 is more than 400.
  expect(legendPlaces([100, 100, 100, 300], 400)).toEqual([
    { x: 8, y: 31 },
    { x: 139, y: 31 },
    { x: 8, y: 47 },
    { x: 8, y: 63 },
  ]);
});
