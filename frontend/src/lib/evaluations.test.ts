import { expect, test } from "vitest";
import type { JobEvent } from "@/lib/api/types";
import { type Evaluation, evaluationsOf, meanEvaluations, panelsOf } from "@/lib/evaluations";

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

const at = (step: number, sqrtKl: number, score: number, winRate: number | null): Evaluation => ({
  step,
  sqrtKl,
  score,
  judge: null,
  winRate,
  low: 0.1,
});

test("the mean of runs is at the steps that all of them have", () => {
  const runs = [
    [at(5, 1, 2, 0.5), at(10, 3, 4, 0.7)],
    [at(10, 5, 6, null), at(15, 1, 1, 1)],
  ];
  expect(meanEvaluations(runs)).toEqual([{ step: 10, sqrtKl: 4, score: 5, judge: null, winRate: null, low: null }]);
  expect(meanEvaluations([[], runs[0] ?? []])).toBe(runs[0]);
});

test("only figures that exist have a panel", () => {
  expect(panelsOf([at(0, 0, 1, 0.5)]).map(({ id }) => id)).toEqual(["score", "winRate"]);
});
