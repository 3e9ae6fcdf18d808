import { expect, test } from "vitest";
import { courseOf, settled, stageViews } from "@/features/run/model/stages";
import type { EventOf } from "@/lib/api/types";
import type { Stage } from "@/lib/states";

const finished = (seq: number, stage: Stage, seconds: number) =>
  ({
    object: "job.event",
    job_id: "job_a",
    seq,
    type: "stage_finished",
    created_at: "",
    attempt: 1,
    seed: null,
    stage,
    step: null,
    data: { stage, seconds, summary: { "eval/loss": 1.5 } },
  }) satisfies EventOf<"stage_finished">;

const FOUR = ["sft", "reward_model", "ppo", "evaluation"] as const;
const states = (...args: Parameters<typeof stageViews>) => stageViews(...args).map((view) => view.state);

test("a stage is done once it said so, and the job's stage is the active one", () => {
  expect(states([finished(1, "sft", 20)], FOUR, "reward_model", "going")).toEqual([
    "done",
    "active",
    "waiting",
    "waiting",
  ]);
});

test("a finished stage brings its time and its figures", () => {
  expect(stageViews([finished(1, "sft", 20)], FOUR, "ppo", "going")[0]).toMatchObject({
    seconds: 20,
    summary: { "eval/loss": 1.5 },
  });
});

test("a job that ended early stopped in its last stage and never reached the others", () => {
  expect(states([finished(1, "sft", 20)], FOUR, "reward_model", "ended")).toEqual([
    "done",
    "stopped",
    "unreached",
    "unreached",
  ]);
});

test("a stage of a paused job, or of one that waits for a worker again, is paused", () => {
  for (const status of ["paused", "queued"])
    expect(states([], FOUR, "sft", courseOf(status))).toEqual(["paused", "waiting", "waiting", "waiting"]);
  expect(states([], FOUR, "sft", courseOf("pausing"))[0]).toBe("active");
  expect(states([], FOUR, "sft", courseOf("cancelled"))[0]).toBe("stopped");
});

test("a stage that the job does not have is not shown", () => {
  expect(states([], ["dpo", "evaluation"], null, "going")).toEqual(["waiting", "waiting"]);
});

test("the charts wait for the first step of training, unless the stage is over", () => {
  const one = { steps: [0], values: [1], min: null, max: null };
  const evaluated = { "eval/score": one };
  expect(settled(evaluated, false)).toEqual({});
  expect(settled(evaluated, true)).toBe(evaluated);
  const trained = { ...evaluated, "objective/kl": one };
  expect(settled(trained, false)).toBe(trained);
});
