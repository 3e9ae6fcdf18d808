import { expect, test } from "vitest";
import { differences, type JsonObject, mergePatch, valueAt, withValue } from "@/features/job-form/model/spec";

test("a value is set, read and removed by its path", () => {
  const set = withValue(withValue({}, "ppo.kl.coef", 0.1), "ppo.steps", 5);
  expect(set).toEqual({ ppo: { kl: { coef: 0.1 }, steps: 5 } });
  expect([valueAt(set, "ppo.kl.coef"), valueAt(set, "ppo.kl.target")]).toEqual([0.1, undefined]);
  expect(withValue(withValue(set, "ppo.kl.coef", undefined), "ppo.steps", undefined)).toEqual({});
});

test("a path leads into a list", () => {
  const rewards = { rewards: [{ type: "length", target: 8 }] };
  expect(withValue(rewards, "rewards.0.weight", 2)).toEqual({ rewards: [{ type: "length", target: 8, weight: 2 }] });
});

test("an optional section that is turned on may be empty", () => {
  const on = { model: { lora: { rank: 8 } } };
  expect(withValue(on, "model.lora.rank", undefined, new Set(["model.lora"]))).toEqual({ model: { lora: {} } });
  expect(withValue(on, "model.lora.rank", undefined)).toEqual({});
});

test("differences name the fields, and a list is one value", () => {
  const [before, after] = [
    { ppo: { steps: 5 }, stages: ["sft"] },
    { ppo: { kl: { coef: 0 } }, stages: ["ppo"] },
  ];
  expect(differences(before, after)).toEqual([
    { path: "ppo.steps", before: 5, after: undefined },
    { path: "ppo.kl.coef", before: undefined, after: 0 },
    { path: "stages", before: ["sft"], after: ["ppo"] },
  ]);
});

test("the merge patch restores a default by null", () =>
  expect(mergePatch({ ppo: { steps: 5, epochs: 2 }, seed: 1 }, { ppo: { steps: 6 } })).toEqual({
    ppo: { steps: 6, epochs: null },
    seed: null,
  }));

test("a member that is called __proto__ is one like any other", () => {
  const after = JSON.parse('{"a": 1, "__proto__": {"b": 2}}') as JsonObject;
  expect(JSON.stringify(mergePatch({ a: 1 }, after))).toBe('{"__proto__":{"b":2}}');
});
