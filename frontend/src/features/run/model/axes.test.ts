import { describe, expect, test } from "vitest";
import { alongOf, axesOf, positionsOn, stepsOf } from "@/features/run/model/axes";
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
  expect(axesOf(SERIES)).toEqual(["step", "log-step", "elapsed", "time", "episodes", "tokens"]);
  expect(axesOf({ loss: points([1], [1]) })).toEqual(["step", "log-step"]);
});

describe("positions", () => {
  test("elapsed adds the seconds of the steps", () => {
    expect(positionsOn("elapsed", SERIES, [], "ppo")).toEqual({ steps: [0, 1, 2, 3], at: [0, 10, 30, 40] });
  });

  test("a bucket counts its mean for each of its points", () => {
    const buckets = { "time/step": { ...points([4, 8], [1, 1]), mean: [2, 3], n: [4, 4] } };
    expect(positionsOn("elapsed", buckets, [], "ppo")?.at).toEqual([0, 8, 20]);
  });

  test("tokens are the response lengths times the responses of a step", () => {
    expect(positionsOn("tokens", SERIES, [], "ppo")?.at).toEqual([0, 40, 88, 144]);
  });

  test("clock time has a hole where the run was paused", () => {
    const log = [started(0, "2026-01-01T00:00:00Z"), started(2, "2026-01-01T01:00:00Z")];
    const zero = Date.parse("2026-01-01T00:00:00Z") / 1000;
    expect(positionsOn("time", SERIES, log, "ppo")?.at.map((at) => at - zero)).toEqual([0, 10, 30, 3610]);
    expect(positionsOn("time", SERIES, [], "ppo")).toBeNull();
  });

  test("a part of the axis is turned into steps again", () => {
    const positions = positionsOn("elapsed", SERIES, [], "ppo");
    expect(stepsOf({ from: 10, to: 35 }, positions)).toEqual({ from: 1, to: 2.5 });
    expect(stepsOf({ from: 10, to: 35 }, null)).toEqual({ from: 10, to: 35 });
    expect(alongOf(positions)?.(2.5)).toBe(35);
  });
});
