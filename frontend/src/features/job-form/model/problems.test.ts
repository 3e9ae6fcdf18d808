import { expect, test } from "vitest";
import {
  fieldName,
  missingParts,
  pathOf,
  problemsOf,
  refusalText,
  unreadableProblems,
  withoutItem,
  withoutPath,
} from "@/features/job-form/model/problems";
import { ApiError } from "@/lib/api/client";

test.each([
  [{}, ["model.path: Choose a model.", "data.preferences: Choose a dataset."]],
  [{ model: { path: "gpt2" }, data: { max_prompt_tokens: 8 } }, ["data.preferences: Choose a dataset."]],
  [{ stages: ["kto"], data: { thumbs: "ds_1" } }, ["model.path: Choose a model."]],
  [{ stages: ["kto"], model: { config: {} } }, ["data.thumbs: Choose a dataset."]],
  [{ model: { path: "gpt2" }, data: { prompts: "ds_1" } }, []],
])("%j lacks %j", (spec, lines) =>
  expect(missingParts(spec).map(({ path, text }) => `${path}: ${text}`)).toEqual(lines),
);

test("a field has a name for people", () => {
  expect([fieldName("ppo.kl.coef"), fieldName("rewards.0.weight"), fieldName("seed")]).toEqual([
    "PPO › KL › Coef",
    "Rewards 1 › Weight",
    "Seed",
  ]);
  expect(pathOf("#/health/limits/objective~1kl")).toBe("health.limits.objective/kl");
});

test("a refusal is in words", () => {
  const error = new ApiError(422, {
    detail: "#/ppo/steps: Input should be greater than or equal to 1",
    errors: [{ pointer: "#/ppo/steps", detail: "Input should be greater than or equal to 1" }],
  } as ConstructorParameters<typeof ApiError>[1]);
  expect(refusalText(error)).toBe("PPO › Steps: It must be at least 1");
  expect(problemsOf(error).map(({ path }) => path)).toEqual(["ppo.steps"]);
  expect(refusalText(new Error("No answer."))).toBe("No answer.");
});

const TEXTS = {
  "rewards.0.weight": 1,
  "rewards.1.weight": 2,
  "rewards.2.options": 3,
  "ppo.steps": 4,
  "ppo.steps_x": 5,
};

test("unreadable texts follow the items of a list", () => {
  expect(withoutItem(TEXTS, "rewards", 1)).toEqual({
    "rewards.0.weight": 1,
    "rewards.1.options": 3,
    "ppo.steps": 4,
    "ppo.steps_x": 5,
  });
  expect(Object.keys(withoutPath(TEXTS, "rewards"))).toEqual(["ppo.steps", "ppo.steps_x"]);
  expect(Object.keys(withoutPath(TEXTS, "ppo.steps"))).not.toContain("ppo.steps");
  expect(Object.keys(withoutPath(TEXTS, "ppo.steps"))).toContain("ppo.steps_x");
});

test("an unreadable text blocks with its fault", () =>
  expect(unreadableProblems({ "ppo.steps": { fault: "“abc” is no number." } })).toEqual([
    { path: "ppo.steps", severity: "blocking", text: "“abc” is no number.", advice: null },
  ]));
