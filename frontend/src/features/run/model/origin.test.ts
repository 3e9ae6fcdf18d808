import { expect, test } from "vitest";
import { childrenText, originText, placeText, withInherited } from "@/features/run/model/origin";
import type { StageView } from "@/features/run/model/stages";
import type { JobParent } from "@/lib/api/types";

const parent = (more: Partial<JobParent>): JobParent => ({
  job: "job_a",
  name: "First",
  deleted: false,
  relation: "branch",
  text: "",
  checkpoint: null,
  stage: "ppo",
  step: 40,
  final: false,
  seed: null,
  round: null,
  round_name: null,
  stages: [],
  carried: [],
  ...more,
});

const phrase = (one: JobParent) => originText(one).join(` ${one.name} `).replace(" ,", ",");

test.each([
  [{}, "Branched from First, PPO step 40"],
  [{ seed: 2 }, "Branched from First, PPO step 40, seed 2"],
  [{ stage: "reward_model", final: true }, "Branched from First, the result of Reward model"],
  [{ relation: "extend" }, "Extends First, PPO step 40"],
  [{ relation: "clone", stage: null, step: null }, "Cloned from First"],
  [{ relation: "continue", round: "rnd_1" }, "Continues First, PPO step 40, with the answers of"],
  [{ deleted: true }, "Branched from First, which was deleted, PPO step 40"],
] as const)("%o in words", (more, text) => expect(phrase(parent(more as Partial<JobParent>)).trim()).toBe(text));

test("a checkpoint in words; none without a stage", () => {
  expect(placeText({ stage: "sft", step: 5, final: true })).toBe("the result of SFT");
  expect(placeText({ stage: null, step: null })).toBe("");
});

test("the jobs made from a job", () => {
  expect(childrenText({ branch: 2, clone: 1 })).toBe("1 run cloned from it, 2 runs branched from it");
  expect(childrenText({})).toBe("");
});

const view = (stage: StageView["stage"], state: StageView["state"]): StageView => ({
  stage,
  state,
  seconds: null,
  summary: {},
});

test("an inherited stage is done, in the run that ran it; one that ran here keeps its own figures", () => {
  const inherited = {
    job: "job_a",
    name: "First",
    seed: null,
    step: 5,
    checkpoint: "ckpt_1",
    seconds: 2,
    summary: { loss: 1 },
  };
  const stages = [
    { stage: "sft", ...inherited },
    { stage: "evaluation", ...inherited },
  ];
  const views = [view("sft", "waiting"), view("ppo", "active"), view("evaluation", "done")];
  const found = withInherited(views, parent({ stages }));
  expect(found.map(({ state, from }) => [state, from?.name])).toEqual([
    ["done", "First"],
    ["active", undefined],
    ["done", undefined],
  ]);
  expect(found[0]).toMatchObject({ seconds: 2, summary: { loss: 1 } });
  expect(withInherited(views, null)).toEqual(views);
});
