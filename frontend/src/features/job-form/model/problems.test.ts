import { expect, test } from "vitest";
import { missingParts } from "@/features/job-form/model/problems";

test.each([
  [{}, ["model.path: Choose a model.", "data.preferences: Choose a dataset."]],
  [{ model: { path: "gpt2" }, data: { max_prompt_tokens: 8 } }, ["data.preferences: Choose a dataset."]],
  [{ stages: ["kto"], data: { thumbs: "ds_1" } }, ["model.path: Choose a model."]],
  [{ stages: ["kto"], model: { config: {} } }, ["data.thumbs: Choose a dataset."]],
  [{ model: { path: "gpt2" }, data: { prompts: "ds_1" } }, []],
])("%j lacks %j", (spec, lines) =>
  expect(missingParts(spec).map(({ path, text }) => `${path}: ${text}`)).toEqual(lines),
);
