import { expect, test } from "vitest";
import { counted } from "@/charts/marks";
import { evaluatedSteps, marksOf } from "@/features/run/model/marks";
import type { JobEvent } from "@/lib/api/types";

let seq = 0;
const event = (type: string, stage: string | null, step: number | null, data: object = {}): JobEvent =>
  ({ seq: ++seq, type, seed: null, stage, step, data }) as unknown as JobEvent;

test("events of the stage are marked at their steps, each once", () => {
  const log = [
    event("stage_started", "sft", null, { start_step: 0 }),
    event("checkpoint_saved", "sft", 4),
    event("stage_started", "ppo", null, { start_step: 0 }),
    event("health", "ppo", 3, { rule: "kl_high" }),
    event("health", "ppo", 3, { rule: "kl_high" }),
    event("knob_changed", "ppo", 5, { name: "kl_coef", from: 0.05, to: 0.1 }),
    event("command_done", "ppo", 6, { name: "evaluate" }),
    event("checkpoint_saved", "ppo", 8, { best: true }),
    event("status_changed", null, null, { from: "pausing", to: "paused" }),
    event("stage_started", "ppo", null, { start_step: 8 }),
  ];
  expect(marksOf(log, "ppo")).toEqual([
    { step: 3, kind: "finding", text: "Finding: KL high" },
    { step: 5, kind: "knob", text: "KL coefficient: 0.05 → 0.1" },
    { step: 6, kind: "evaluation", text: "Evaluation on request" },
    { step: 8, kind: "checkpoint", text: "Best checkpoint" },
    { step: 8, kind: "pause", text: "Paused" },
    { step: 8, kind: "pause", text: "Resumed" },
  ]);
  expect(marksOf(log, "sft")).toEqual([{ step: 4, kind: "checkpoint", text: "Checkpoint" }]);
});

test("held-out evaluations are marked, unless nearly every step has one", () => {
  const loss = { steps: [1, 2, 3, 4, 5, 6] };
  expect(evaluatedSteps({ loss, "eval/score": { steps: [3, 6] }, "eval/kl": { steps: [6] } })).toEqual([3, 6]);
  expect(marksOf([], "sft", [3])).toEqual([{ step: 3, kind: "evaluation", text: "Held-out evaluation" }]);
  expect(evaluatedSteps({ loss, "eval/loss": { steps: [2, 4, 6] } })).toEqual([]);
});

test("marks close together are counted", () => {
  const texts = ["a", "Finding: KL high", "b", "Finding: KL high", "c"];
  expect(counted(texts)).toBe("Finding: KL high ×2 · a · b · 1 more");
});
