import { expect, test } from "vitest";
import type { Checkpoint } from "@/lib/api/types";
import { bestCheckpointOf, bestCheckpointText, policiesOf } from "@/lib/best-checkpoint";

const series = {
  "eval/win_rate": { steps: [0, 60, 70], values: [0.5, 1, 1] },
  "eval/best_step": { steps: [0, 60, 70], values: [0, 60, 60] },
};
const last = { win_rate: 1, win_rate_low: 0.8, win_rate_high: 1, kl: 1.4 };
const measured = {
  best_step: 60,
  selection_win_rate: 1,
  best_win_rate: 0.8125,
  best_win_rate_low: 0.5,
  best_win_rate_high: 0.9,
  best_kl: 1.2,
};

function text(found: Parameters<typeof bestCheckpointOf>): string | null {
  const best = bestCheckpointOf(...found);
  return best && bestCheckpointText(best);
}

test("a run that goes on names the step that its metrics name, of equal win rates too", () => {
  expect(text([series, {}])).toBe("Best checkpoint: step 60, chosen during PPO with a win rate of 100.0 %.");
});

test("after the evaluation both measurements of the step stand side by side", () => {
  const told =
    "Best checkpoint: step 60, chosen during PPO with a win rate of 100.0 %. Measured again with new completions: 81.3 %, " +
    "95 % interval 50.0 % to 90.0 %. The last checkpoint is at least as good in the same measurement.";
  expect(text([series, { ...last, ...measured }])).toBe(told);
  expect(text([{}, { ...last, ...measured }])).toBe(told);
});

test("where the last checkpoint is the best, its figure is not told as a second one", () => {
  const same = { ...measured, best_step: 70, best_win_rate: 1, best_kl: 1.4 };
  expect(text([series, { ...last, ...same }])).toBe("The best checkpoint is the last one (step 70).");
});

test("a run without the metric has the checkpoint that it kept, or none", () => {
  const old = { "eval/win_rate": series["eval/win_rate"] };
  expect(text([old, {}, 70])).toBe("Best checkpoint: step 70, chosen during PPO with a win rate of 100.0 %.");
  expect(text([old, last])).toBeNull();
});

test("the checkpoints of a seed are its own, and damaged ones are left out", () => {
  const one = (id: string, more: Partial<Pick<Checkpoint, "stage" | "seed" | "damage">> = {}) => ({
    id,
    stage: "ppo" as const,
    seed: null,
    damage: null,
    ...more,
  });
  const all = [
    one("copy"),
    one("first", { seed: 3 }),
    one("bad", { seed: 3, damage: "config.json is missing" }),
    one("other", { seed: 4 }),
    one("sft", { seed: 3, stage: "sft" }),
  ];
  expect(policiesOf(all, 3).map(({ id }) => id)).toEqual(["first"]);
  expect(policiesOf(all, null).map(({ id }) => id)).toEqual(["copy"]);
});
