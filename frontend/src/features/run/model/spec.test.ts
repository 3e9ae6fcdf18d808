import { expect, test } from "vitest";
import { hasCritic, processesOf, sidesOf, stagesOf } from "@/features/run/model/spec";

test("a job has the stages that its spec lists, in their order", () => {
  expect(stagesOf({ stages: ["sft", "dpo", "evaluation"] })).toEqual(["sft", "dpo", "evaluation"]);
  expect(stagesOf({ stages: ["ppo"] })).toEqual(["ppo"]);
});

test("a spec of an older version lists none, and left SFT out by null", () => {
  expect(stagesOf({ sft: {} })).toEqual(["sft", "reward_model", "ppo", "evaluation"]);
  expect(stagesOf({ sft: null })).toEqual(["reward_model", "ppo", "evaluation"]);
});

test.each([
  [["sft", "reward_model", "ppo", "evaluation"], undefined, "SFT", "PPO"],
  [["sft", "dpo", "evaluation"], undefined, "SFT", "DPO"],
  [["sft", "dpo", "ppo", "evaluation"], undefined, "DPO", "PPO"],
  [["dpo", "evaluation"], undefined, "Start", "DPO"],
  [["sft", "kto", "evaluation"], undefined, "SFT", "KTO"],
  [["sft", "evaluation"], undefined, "Start", "SFT"],
  [["ppo", "evaluation"], "owner/other-model", "other-model", "PPO"],
  [["evaluation"], "ckpt_abcdefghijkl", "ckpt_abcdef…", "Model"],
])("%j against %s compares %s with %s", (stages, against, before, after) =>
  expect(sidesOf({ stages, evaluation: { against } })).toEqual({ before, after }),
);

test.each([
  [undefined, null],
  [{ processes: 1, machines: 1 }, null],
  [{ processes: 2, machines: 1 }, "2"],
  [{ processes: 4, machines: 2 }, "4 on each of 2 machines"],
])("resources %j are told as %s", (resources, told) => expect(processesOf({ resources })).toBe(told));

test("PPO has a critic unless its advantages need none", () => {
  expect(hasCritic({ ppo: { advantage: { estimator: "gae" } } })).toBe(true);
  expect(hasCritic({ ppo: { advantage: { estimator: "sequence" } } })).toBe(false);
  expect(hasCritic({})).toBe(true); // older versions stored no estimator
});
