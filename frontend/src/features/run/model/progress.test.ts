import { expect, test } from "vitest";
import { liveProgress } from "@/features/run/model/progress";
import { emptyRun, type RunState } from "@/features/run/model/state";

const progress = {
  stage: "ppo",
  step: 10,
  total_steps: 20,
  at_most: false,
  stage_index: 2,
  stage_count: 4,
  fraction: 0.5,
  step_fraction: 0.03,
  eta_seconds: 50,
  seeds_done: 0,
  seed_count: 1,
  seed: null,
  seeds_eta_seconds: null,
};
const at = (place: string, ...steps: number[]): RunState => ({
  ...emptyRun,
  series: { [place]: { loss: { steps, values: steps, min: null, max: null } } },
});

test("the line is at the newest step of the charts, and its share and time follow", () => {
  const found = liveProgress(progress, at("ppo", 1, 14));
  expect([found?.step, found?.eta_seconds]).toEqual([14, 30]);
  expect(found?.fraction).toBeCloseTo(0.62);
});

test("older series, other stages and the end of a stage change nothing", () => {
  expect(liveProgress(progress, at("ppo", 9))).toBe(progress);
  expect(liveProgress(progress, at("sft", 19))).toBe(progress);
  expect(liveProgress(null, at("ppo", 9))).toBeNull();
});

test("of several seeds it is the one that runs", () => {
  const second = { ...progress, seed: 8 };
  expect(liveProgress(second, at("7/ppo", 19))).toBe(second);
  expect(liveProgress(second, at("8/ppo", 12))?.step).toBe(12);
});
