import { expect, test } from "vitest";
import {
  bestOf,
  type Evaluation,
  evaluationsOf,
  overOptimisation,
  panelsOf,
  ticksWithin,
} from "@/features/completions/model/frontier";
import type { Checkpoint, JobEvent } from "@/lib/api/types";

const at = (step: number, score: number, judge: number | null, winRate = 0.5): Evaluation => ({
  step,
  sqrtKl: Math.sqrt(step),
  score,
  judge,
  winRate,
  low: winRate - 0.1,
});

test("evaluations come from the metrics, at their own steps", () => {
  const series = {
    "eval/sqrt_kl": { steps: [0, 10], values: [0, 1.5] },
    "eval/score": { steps: [0, 10], values: [0.25, 0.75] },
    "eval/win_rate": { steps: [10], values: [0.6] },
    "objective/kl": { steps: [1, 2], values: [9, 9] },
  };
  expect(evaluationsOf(series, [])).toEqual([
    { step: 0, sqrtKl: 0, score: 0.25, judge: null, winRate: null, low: null },
    { step: 10, sqrtKl: 1.5, score: 0.75, judge: null, winRate: 0.6, low: null },
  ]);
});

test("without metrics the curve of the stage's end counts", () => {
  const points = [{ step: 5, sqrt_kl: 2, score: 1, judge: null, win_rate: 0.7 }];
  const curve = { type: "curve", seq: 9, data: { stage: "ppo", points } } as unknown as JobEvent;
  expect(evaluationsOf({}, [curve])).toEqual([{ step: 5, sqrtKl: 2, score: 1, judge: null, winRate: 0.7, low: null }]);
});

test("a judge that falls while the score rises shows over-optimisation", () => {
  const points = [at(0, 0, 0.5), at(10, 1, 0.8), at(20, 2, 0.7), at(30, 3, 0.6), at(40, 4, 0.5)];
  expect(overOptimisation(points, true)).toEqual({
    step: 10,
    gold: "judge",
    goldThen: 0.8,
    goldNow: 0.55,
    scoreThen: 1,
    scoreNow: 3.5,
  });
  expect(overOptimisation(points, false)).toBeNull();
});

test("no over-optimisation: both rise, both fall, too few points, or a fall within the noise", () => {
  const rising = [0, 1, 2, 3, 4].map((n) => at(n, n, n));
  const falling = [at(0, 5, 0.8), ...[1, 2, 3, 4].map((n) => at(n, 5 - n, 0.8 - n / 10))];
  const noisy = [0.5, 0.6, 0.55, 0.53, 0.54].map((rate, n) => at(n, n, null, rate));
  for (const points of [rising, falling, falling.slice(0, 4), noisy]) expect(overOptimisation(points, true)).toBeNull();
});

test("the win rate stands for a judge that only compares", () => {
  const points = [0.5, 0.9, 0.8, 0.6, 0.5].map((rate, n) => at(n, n, null, rate));
  expect(overOptimisation(points, true)).toMatchObject({ step: 1, gold: "winRate", goldNow: 0.55 });
});

test("the best is the kept checkpoint, or else the first of the highest win rates", () => {
  const points = [at(0, 0, null, 0.5), at(10, 1, null, 0.7), at(20, 2, null, 0.7)];
  const saved = { stage: "ppo", seed: null, best: true, step: 20 } as unknown as Checkpoint;
  expect(bestOf(points, [saved])).toEqual({ step: 20, winRate: 0.7, checkpoint: saved });
  expect(bestOf(points, [])).toEqual({ step: 10, winRate: 0.7, checkpoint: null });
  expect(bestOf([], [])).toBeNull();
});

test("only figures that exist have a panel", () => {
  expect(panelsOf([at(0, 1, null)]).map(({ id }) => id)).toEqual(["score", "winRate"]);
});

test("ticks are round and within the range", () => {
  expect(ticksWithin(0, 3.2, 4)).toEqual([0, 1, 2, 3]);
  expect(ticksWithin(-0.11, 0.12, 4)).toEqual([-0.1, 0, 0.1]);
  expect(ticksWithin(5, 5, 4)).toEqual([5]);
});
