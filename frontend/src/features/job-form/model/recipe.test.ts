import { expect, test } from "vitest";
import { readRecipes, specOf } from "@/features/job-form/model/recipe";

const RECIPE = {
  name: "dpo",
  title: "DPO",
  description: "Pairs train the policy.",
  replace: ["data.preferences", "evaluation.judge"],
  spec: { stages: ["sft", "dpo"], data: { preferences: "a.jsonl", eval_fraction: 0.2 }, evaluation: { judge: "x" } },
};

test("a recipe leaves out what belongs to the data of its example", () => {
  expect(specOf(RECIPE)).toEqual({ stages: ["sft", "dpo"], data: { eval_fraction: 0.2 } });
});

test("a file of recipes is read, and another one is an error", () => {
  expect(readRecipes([RECIPE])).toEqual([RECIPE]);
  expect(() => readRecipes([{ ...RECIPE, spec: "x" }])).toThrow("cannot be read");
  expect(() => readRecipes({})).toThrow("cannot be read");
});
