import { expect, test } from "vitest";
import { describe, levelOf } from "@/features/run/model/describe";
import type { JobEvent } from "@/lib/api/types";

const event = (type: string, data: Record<string, unknown>) =>
  ({
    seq: 1,
    type,
    created_at: "",
    attempt: 1,
    seed: null,
    stage: data.stage ?? null,
    step: data.step ?? null,
    data,
  }) as JobEvent;

test.each([
  ["status_changed", { from: "queued", to: "starting", reason: "claimed" }, "queued → starting: claimed"],
  ["status_changed", { from: null, to: "queued", reason: "submitted" }, "queued: submitted"],
  ["stage_started", { stage: "ppo", total_steps: 100, start_step: 40 }, "PPO begins again after step 40, 100 steps"],
  [
    "stage_finished",
    { stage: "sft", seconds: 21.3, summary: { "eval/loss": 1.234 } },
    "SFT done in 21 s (eval/loss 1.23)",
  ],
  ["checkpoint_saved", { stage: "ppo", step: 10, final: false }, "PPO step 10 saved"],
  ["checkpoint_saved", { stage: "ppo", step: 10, final: false, best: true }, "PPO step 10 saved, the best so far"],
  ["checkpoint_saved", { stage: "dpo", step: 9, final: true }, "DPO step 9 saved, the stage's result"],
  [
    "checkpoint_damaged",
    {
      stage: "ppo",
      step: 10,
      final: false,

      reason: "model.safetensors is missing",
      remedy: "Step 5 is used.",
    },
    "PPO: the checkpoint of step 10 is damaged. model.safetensors is missing. Step 5 is used.",
  ],
  [
    "health",
    { stage: "ppo", step: 7, rule: "kl_blow_up", title: "KL too large", cause: "Too far.", suggestion: "Raise it." },
    "KL too large at step 7: Too far. Raise it.",
  ],
  [
    "rolled_back",
    { stage: "ppo", step: 7, to_step: 4, learning_rate_factor: 0.5 },
    "PPO continues from the weights of step 4, learning rates × 0.5",
  ],
  [
    "command_requested",
    { stage: "ppo", name: "kl_coef", value: 0.1, actor: { kind: "api_key", name: "Ada" } },
    "Ada requested: KL coefficient = 0.1",
  ],
  ["command_requested", { stage: "ppo", name: "evaluate", actor: { name: null } }, "A key requested: Evaluation"],
  [
    "knob_changed",
    { stage: "ppo", step: 7, name: "kl_coef", from: 0.05, to: 0.1, command: "cmd_a" },
    "KL coefficient 0.05 → 0.1 after PPO step 7",
  ],
  ["command_done", { stage: "ppo", step: 7, name: "evaluate" }, "Evaluation as requested, after PPO step 7"],
  [
    "command_refused",
    { stage: "sft", step: 3, name: "kl_coef", reason: "Only PPO has it." },
    "KL coefficient was refused after SFT step 3: Only PPO has it.",
  ],
  ["curve", { stage: "ppo", points: [{}, {}] }, "Over-optimisation curve of 2 evaluations"],
  ["report_card", { stage: "reward_model" }, "Reward model: report card on the held-out rows"],
  [
    "seed_finished",
    { seed: 2, number: 1, of: 3, collapsed: true, why: "it diverged" },
    "Seed 2 (1 of 3) collapsed: it diverged",
  ],
  [
    "seed_finished",
    { seed: 2, number: 1, of: 3, collapsed: false, summary: { win_rate: 0.75 } },
    "Seed 2 (1 of 3) done (win_rate 0.75)",
  ],
  ["run_stopped", { reason: "health", message: "Paused in stage ppo." }, "Paused in stage ppo."],
  ["run_stopped", { reason: "rewards", message: "Too many." }, "Too many."],
  [
    "reward_missing",
    {
      stage: "ppo",
      step: 4,
      reward: "remote",
      asked: 64,
      missing: { time_out: 2, bad_output: 1 },
      share: 0.015,
      reason: "no answer within 60 s",
      held_out: false,
    },
    "PPO step 4: remote has no value for 3 of 64 responses, left out (2 time-out, 1 bad output). Reason: no answer within 60 s",
  ],
  ["something_new", { a: 1 }, '{"a":1}'],
])("%s reads as a sentence", (type, data, sentence) => expect(describe(event(type, data))).toBe(sentence));

test("an event of one seed of several names it, once", () => {
  const saved = { ...event("checkpoint_saved", { stage: "dpo", step: 9, final: true, seed: 3 }), seed: 3 };
  expect(describe(saved)).toBe("Seed 3: DPO step 9 saved, the stage's result");
  const done = { ...event("seed_finished", { seed: 3, number: 1, of: 3, collapsed: true }), seed: 3 };
  expect(describe(done)).toBe("Seed 3 (1 of 3) collapsed");
});

test("a job that goes back to the queue is a warning, one that enters it is not", () => {
  expect(levelOf(event("status_changed", { from: "running", to: "queued" }))).toBe("warning");
  expect(levelOf(event("status_changed", { from: null, to: "queued" }))).toBe("info");
});

test.each([
  ["health", {}, "warning"],
  ["checkpoint_damaged", {}, "warning"],
  ["reward_missing", {}, "warning"],
  ["rolled_back", {}, "warning"],
  ["command_refused", {}, "warning"],
  ["knob_changed", {}, "info"],
  ["seed_finished", { collapsed: true }, "warning"],
  ["seed_finished", { collapsed: false }, "info"],
  ["report_card", {}, "info"],
])("%s %j is a matter of %s", (type, data, level) => expect(levelOf(event(type, data))).toBe(level));
