import { expect, test } from "vitest";
import {
  answersOf,
  bodyOf,
  checkpointLabel,
  type Draft,
  draftOfDataset,
  draftOfJob,
  emptyDraft,
  problemsOf,
} from "@/features/annotation/model/draft";

const checkpoint = (stage: string, final: boolean, step = 6) => ({
  id: `ckpt_${stage}_${step}`,
  stage,
  step,
  final,
  best: false,
  seed: null,
});
const job = {
  name: "Tiny",
  spec: { data: { preferences: `ds_pref@sha256:${"0".repeat(64)}`, prompts: null, sft: "ds_sft" } },
};
const saved = [
  checkpoint("sft", true),
  checkpoint("reward_model", true),
  checkpoint("ppo", false, 4),
  checkpoint("ppo", true),
];
const pairs: Draft = { ...emptyDraft, dataset: "ds_1" };
const sampled: Draft = { ...emptyDraft, from: "checkpoints", first: "ckpt_a", second: "ckpt_b", prompts: "ds_1" };

test("a job's last policy is compared with the one before it, on its own prompts", () => {
  const draft = draftOfJob(job, saved);
  expect(draft).toMatchObject({
    name: "Tiny: completions",
    from: "checkpoints",
    first: "ckpt_ppo_6",
    second: "ckpt_sft_6",
    prompts: "ds_pref",
    gold: "ds_pref",
    rewardModel: "ckpt_reward_model_6",
  });
  expect(problemsOf(draft)).toEqual({});
});

test("of a job that saved one policy, that one writes both completions", () => {
  const draft = draftOfJob(job, [checkpoint("ppo", false, 2)]);
  expect([draft.first, draft.second, draft.rewardModel]).toEqual(["ckpt_ppo_2", "", ""]);
  expect(bodyOf(draft).source).toMatchObject({ checkpoints: ["ckpt_ppo_2"], completions: 2 });
});

test("preferences are judged themselves, prompts are answered first", () => {
  expect(draftOfDataset("preferences", "ds_1@2")).toMatchObject({ from: "dataset", dataset: "ds_1@2" });
  expect(draftOfDataset("prompts", "ds_1")).toMatchObject({ from: "checkpoints", prompts: "ds_1", dataset: "" });
});

test("an empty form says what is missing", () => {
  expect(Object.keys(problemsOf(emptyDraft))).toEqual(["dataset"]);
  expect(Object.keys(problemsOf({ ...emptyDraft, from: "checkpoints" })).sort()).toEqual(["first", "prompts"]);
});

test.each<[Partial<Draft>, keyof Draft]>([
  [{ overlap: "0" }, "overlap"],
  [{ overlap: "1.5" }, "overlap"],
  [{ overlap: "" }, "overlap"],
  [{ goldShare: "60" }, "goldShare"],
  [{ limit: "many" }, "limit"],
  [{ goldShare: "10", rows: "all" }, "gold"],
])("%o is refused", (change, field) => {
  expect(Object.keys(problemsOf({ ...pairs, ...change }))).toEqual([field]);
});

test("unlabelled rows find their gold among the labelled ones", () => {
  expect(problemsOf({ ...pairs, goldShare: "10" })).toEqual({});
  expect(bodyOf({ ...pairs, goldShare: "10" })).toEqual({
    kind: "pairs",
    source: { type: "dataset", dataset: "ds_1", rows: "unlabelled" },
    overlap: 1,
    gold_share: 0.1,
    instructions: "",
  });
});

test("a ranking shows two to nine completions in all", () => {
  const ranking: Draft = { ...sampled, kind: "ranking" };
  expect(problemsOf({ ...ranking, completions: "4" })).toEqual({});
  expect(Object.keys(problemsOf({ ...ranking, completions: "5" }))).toEqual(["completions"]);
  expect(Object.keys(problemsOf({ ...ranking, second: "", completions: "1" }))).toEqual(["completions"]);
  expect(bodyOf({ ...ranking, completions: "3" }).source).toMatchObject({ completions: 3 });
});

test("two checkpoints write one completion each", () => {
  expect(bodyOf({ ...sampled, limit: "50", maxNewTokens: "32" }).source).toEqual({
    type: "checkpoints",
    checkpoints: ["ckpt_a", "ckpt_b"],
    prompts: "ds_1",
    limit: 50,
    completions: 1,
    temperature: 1,
    max_new_tokens: 32,
  });
});

test("the same checkpoint twice is one that writes twice", () => {
  expect(bodyOf({ ...sampled, second: "ckpt_a" }).source).toMatchObject({ checkpoints: ["ckpt_a"], completions: 2 });
});

test("how much work it is", () => {
  expect(answersOf({ ...pairs, limit: "200", overlap: "3" })).toBe(600);
  expect(answersOf(pairs)).toBeNull();
});

const ofSeed = (seed: number, ...stages: string[]) =>
  stages.map((stage) => ({ ...checkpoint(stage, true), id: `${stage}_${seed}`, seed }));

test("a job with several seeds is compared within its best one", () => {
  const all = [...ofSeed(0, "sft", "reward_model", "ppo"), ...ofSeed(1, "sft", "reward_model", "ppo")];
  const draft = draftOfJob({ ...job, summary: { best_seed: 1 } }, all);
  expect(draft).toMatchObject({ first: "ppo_1", second: "sft_1", rewardModel: "reward_model_1" });
});

test("models of a seed that failed are not mixed with those of another", () => {
  const all = [...ofSeed(0, "sft", "reward_model"), ...ofSeed(1, "sft", "reward_model", "ppo")];
  expect(draftOfJob(job, all)).toMatchObject({ first: "ppo_1", second: "sft_1", rewardModel: "reward_model_1" });
});

test("a checkpoint's label tells it from the others", () => {
  expect(checkpointLabel(checkpoint("ppo", true))).toBe("PPO, step 6, final");
  expect(checkpointLabel({ ...checkpoint("sft", false), seed: 3 })).toBe("SFT, step 6, seed 3");
});
