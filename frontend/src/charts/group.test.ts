import { expect, test } from "vitest";
import { ChartGroup } from "@/charts/group";

const shown = (group: ChartGroup) => {
  const { from, to } = group.getRange();
  return [Math.round(from * 1000) / 1000, Math.round(to * 1000) / 1000];
};

function over(from: number, to: number, isLog: boolean): ChartGroup {
  const group = new ChartGroup();
  group.setSpan({ from, to }, isLog);
  return group;
}

test("zoom and pan keep proportions on a linear axis", () => {
  const group = over(0, 100, false);
  expect(group.at(0.25)).toBe(25);
  group.zoom(0.5, 20);
  expect(shown(group)).toEqual([10, 60]);
  group.pan(0.5);
  expect(shown(group)).toEqual([35, 85]);
  group.pan(1);
  expect(shown(group)).toEqual([50, 100]);
});

test("zoom and pan keep ratios on a logarithmic axis", () => {
  const group = over(1, 10_000, true);
  expect(group.at(0.5)).toBeCloseTo(100, 9);
  group.zoom(0.5, 100);
  expect(shown(group)).toEqual([10, 1000]);
  group.pan(0.25);
  expect(shown(group)).toEqual([31.623, 3162.278]);
  group.pan(-1);
  expect(shown(group)).toEqual([1, 100]);
});
