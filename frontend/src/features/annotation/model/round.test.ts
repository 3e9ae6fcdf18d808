import { expect, test } from "vitest";
import { annotatorName } from "@/features/annotation/model/annotator-name";
import { bareDataset, versionOf } from "@/features/annotation/model/dataset-reference";
import { policyName } from "@/features/annotation/model/policy-name";
import { shareAnswered, sourceInWords } from "@/features/annotation/model/round";

const round = { kind: "pairs", status: "open", items: 10, answers: 5, answers_wanted: 20 };
const sampled = { type: "checkpoints", prompts: "ds_1", completions: 1 } as const;

test("a dataset's reference is taken apart", () => {
  expect(["ds_1", "ds_1@2", `ds_1@sha256:${"0".repeat(64)}`].map(bareDataset)).toEqual(["ds_1", "ds_1", "ds_1"]);
  expect(["ds_1", "ds_1@12", "ds_1@sha256:00112233"].map(versionOf)).toEqual([null, 12, null]);
});

test("where the items come from is said in words", () => {
  const dataset = { type: "dataset", dataset: "ds_1", rows: "unlabelled" } as const;
  expect(sourceInWords({ ...round, source: dataset })).toBe("Unlabelled pairs of a dataset");
  expect(sourceInWords({ ...round, source: { ...sampled, checkpoints: ["a", "b"] } })).toBe("2 checkpoints");
  expect(sourceInWords({ ...round, source: { ...sampled, checkpoints: ["a"], completions: 4 } })).toBe(
    "One checkpoint, 4 completions",
  );
});

test("a policy is named with its seed where its job has several", () => {
  const policy = { model: null, stage: "ppo", step: 4, seed: null };
  expect([policy, { ...policy, seed: 2 }].map(policyName)).toEqual(["PPO, step 4", "PPO, step 4, seed 2"]);
  expect(policyName({ ...policy, model: "org/name", stage: null })).toBe("org/name");
});

test("the share that is answered never leaves 0 to 1", () => {
  const source = { ...sampled, checkpoints: ["a"] };
  expect(shareAnswered({ ...round, source })).toBe(0.25);
  expect(shareAnswered({ ...round, source, answers: 25 })).toBe(1);
  expect(shareAnswered({ ...round, source, answers: 0, answers_wanted: 0 })).toBe(0);
});

test.each([
  ["  Ada   Lovelace\n", "Ada Lovelace"],
  ["x".repeat(70), "x".repeat(60)],
  [" \t ", null],
  [null, null],
  ["a\ud800\0b 🙂", "a b 🙂"],
])("%o is stored as %o", (typed, name) => {
  expect(annotatorName(typed)).toBe(name);
});
