import { expect, test } from "vitest";
import { findingText, overOptimisation } from "@/features/completions/model/frontier";
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

test("a finding names the best checkpoint, not the step of its own peak", () => {
  const points = [at(0, 0, 0.5), at(10, 1, 0.8), at(20, 2, 0.7), at(30, 3, 0.6), at(40, 4, 0.5)];
  const found = overOptimisation(points, true);
  const told = (best: number | null) => found && findingText(found, best);
  expect(told(20)).toContain("Since step 10, the judge's score fell from 0.800 to 0.550, while");
  expect(told(20)).toContain("Use the best checkpoint, of step 20, or");
  expect(told(null)).toContain("Use the best checkpoint, or");
});
