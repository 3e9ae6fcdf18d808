import { describe, expect, test } from "vitest";
import { axesOf, interpolated, stepAt, stepsOf } from "@/charts/placement";
import { alongOf, placementOf, positionsOn } from "@/charts/positions";
import type { JobEvent } from "@/lib/api/types";

const points = (steps: number[], values: number[]) => ({ steps, values, min: null, max: null });
const SERIES = {
  "time/step": points([1, 2, 3], [10, 20, 10]),
  episode: points([1, 2, 3], [8, 16, 24]),
  "val/response_length": points([1, 2, 3], [5, 6, 7]),
};
const started = (step: number, at: string): JobEvent =>
  ({
    type: "stage_started",
    stage: "ppo",
    step: null,
    created_at: at,
    data: { start_step: step },
  }) as unknown as JobEvent;

test("axes are offered where their metrics are", () => {
  expect(axesOf(new Set(Object.keys(SERIES)))).toEqual(["step", "log-step", "elapsed", "time", "episodes", "tokens"]);
  expect(axesOf(new Set(["loss"]))).toEqual(["step", "log-step"]);
});

const run = { series: SERIES, log: [], stage: "ppo" };

describe("positions", () => {
  test("elapsed adds the seconds of the steps", () => {
    expect(positionsOn("elapsed", run)).toEqual({ steps: [0, 1, 2, 3], at: [0, 10, 30, 40] });
  });

  test("a bucket counts its mean for each of its points", () => {
    const buckets = { "time/step": { ...points([4, 8], [1, 1]), mean: [2, 3], n: [4, 4] } };
    expect(positionsOn("elapsed", { ...run, series: buckets })?.at).toEqual([0, 8, 20]);
  });

  test("tokens are the response lengths times the responses of a step", () => {
    expect(positionsOn("tokens", run)?.at).toEqual([0, 40, 88, 144]);
  });

  test("clock time has a hole where the run was paused", () => {
    const log = [started(0, "2026-01-01T00:00:00Z"), started(2, "2026-01-01T01:00:00Z")];
    const zero = Date.parse("2026-01-01T00:00:00Z") / 1000;
    expect(positionsOn("time", { ...run, log })?.at.map((at) => at - zero)).toEqual([0, 10, 30, 3610]);
    expect(positionsOn("time", run)).toBeNull();
  });

  test("a part of the axis is turned into steps again", () => {
    const positions = positionsOn("elapsed", run);
    expect(stepsOf({ from: 10, to: 35 }, positions)).toEqual({ from: 1, to: 2.5 });
    expect(stepsOf({ from: 10, to: 35 }, null)).toEqual({ from: 10, to: 35 });
    expect(positions && alongOf(positions)(2.5)).toBe(35);
  });

  test("a run goes on where its ancestor ends", () => {
    const later = { ...run, series: { "time/step": points([3, 4], [5, 5]) }, origin: { step: 2, at: 30 } };
    expect(positionsOn("elapsed", later)).toEqual({ steps: [2, 3, 4], at: [30, 35, 40] });
  });

  test("a run without the metric of an axis has no place on it", () => {
    const bare = { ...run, series: { loss: points([1], [1]) } };
    expect(placementOf("tokens", bare)).toBeNull();
    expect(placementOf("metric:objective/kl", bare)).toBeNull();
    expect(placementOf("step", bare)).toEqual({ positions: null, along: null });
  });
});

describe("an axis of a metric", () => {
  const kl = { "objective/kl": points([1, 2, 4], [0.5, 0.1, 0.9]) };
  const placement = placementOf("metric:objective/kl", { ...run, series: kl });

  test("has a position only where the metric was measured", () => {
    expect([1, 2, 3, 4, 5].map((step) => placement?.along?.(step))).toEqual([0.5, 0.1, NaN, 0.9, NaN]);
  });

  test("has positions between the buckets of a long run", () => {
    const buckets = { "objective/kl": { ...points([4, 8], [9, 9]), mean: [1, 3], n: [4, 4] } };
    const along = placementOf("metric:objective/kl", { ...run, series: buckets })?.along;
    expect([3, 4, 6, 8, 9].map((step) => along?.(step))).toEqual([NaN, 1, 2, 3, NaN]);
  });

  test("leads back to the nearest step, and to no range of steps", () => {
    expect(stepAt(0.6, placement?.positions ?? null)).toBe(1);
    expect(stepsOf({ from: 0, to: 0.5 }, placement?.positions ?? null)).toBeNull();
  });
});

test("interpolated follows the known positions and goes on after the last", () => {
  const at = interpolated([10, 20, 40], [100, 110, 150]);
  expect([10, 15, 20, 30, 40, 50].map(at)).toEqual([100, 105, 110, 130, 150, 170]);
  expect(interpolated([], [])(7)).toBe(7);
});
