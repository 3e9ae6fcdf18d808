import { expect, test } from "vitest";
import { describe, levelOf } from "@/lib/run/describe";
import type { RunEvent } from "@/lib/run/event";

const event = (type: string, data: Record<string, unknown>): RunEvent => ({
  seq: 1,
  type,
  created_at: "",
  attempt: 1,
  stage: null,
  step: null,
  data,
});

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
  ["something_new", { a: 1 }, '{"a":1}'],
])("%s reads as a sentence", (type, data, sentence) => expect(describe(event(type, data))).toBe(sentence));

test("a job that goes back to the queue is a warning, one that enters it is not", () => {
  expect(levelOf(event("status_changed", { from: "running", to: "queued" }))).toBe("warning");
  expect(levelOf(event("status_changed", { from: null, to: "queued" }))).toBe("info");
});
