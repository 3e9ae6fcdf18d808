import { expect, test } from "vitest";
import { csv } from "@/charts/export";
import { legendPlaces } from "@/charts/export-legend";

test("csv has a row for each step and a column for each line", () => {
  const lines = [
    { key: "objective/kl", label: "training", series: { steps: [1, 2], values: [0.5, 0.25], min: null, max: null } },
    { key: "eval/kl", label: "held, out", series: { steps: [2, 4], values: [3, 4], min: [1, 2], max: [5, 6] } },
  ];
  expect(csv(lines)).toBe(
    ["step,objective/kl,eval/kl,eval/kl min,eval/kl max", "1,0.5,,,", "2,0.25,3,1,5", "4,,4,2,6", ""].join("\n"),
  );
});

test("the names of many lines need several rows of a picture", () => {
  // Each name takes 31 pixels beside its text: 8 + 3 · 131 = 401 is more than 400.
  expect(legendPlaces([100, 100, 100, 300], 400)).toEqual([
    { x: 8, y: 31 },
    { x: 139, y: 31 },
    { x: 8, y: 47 },
    { x: 8, y: 63 },
  ]);
});
