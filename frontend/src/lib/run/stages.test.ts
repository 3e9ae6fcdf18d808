import { expect, test } from "vitest";
import type { RunEvent } from "@/lib/run/event";
import { stageViews } from "@/lib/run/stages";

const finished = (seq: number, stage: string, seconds: number): RunEvent => ({
  seq,
  type: "stage_finished",
  created_at: "",
  attempt: 1,
  stage,
  data: { stage, seconds, summary: { "eval/loss": 1.5 } },
});

const states = (...args: Parameters<typeof stageViews>) => stageViews(...args).map((view) => view.state);

test("a stage is done once it said so, and the job's stage is the active one", () => {
  expect(states([finished(1, "sft", 20)], false, "reward_model", false)).toEqual([
    "done",
    "active",
    "waiting",
    "waiting",
  ]);
});

test("a finished stage brings its time and its figures", () => {
  expect(stageViews([finished(1, "sft", 20)], false, "ppo", false)[0]).toMatchObject({
    seconds: 20,
    summary: { "eval/loss": 1.5 },
  });
});

test("a job that ended early stopped in its last stage and never reached the others", () => {
  expect(states([finished(1, "sft", 20)], false, "reward_model", true)).toEqual([
    "done",
    "stopped",
    "unreached",
    "unreached",
  ]);
});

test("a skipped stage is not shown", () => {
  expect(states([], true, null, false)).toEqual(["waiting", "waiting", "waiting"]);
});
