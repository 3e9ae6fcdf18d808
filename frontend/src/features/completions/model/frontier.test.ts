import { expect, test } from "vitest";
import { overOptimisation } from "@/features/completions/model/frontier";
import type { Evaluation } from "@/lib/evaluations";

const at = (step: number, score: number, judge: number | null, winRate = 0.5): Evaluation => ({
  step,
  sqrtKl: Math.sqrt(step),
  score,
  judge,
  winRate,
  low: winRate - 0.1,
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
