import { expect, test } from "vitest";
import { promptRows, sharedText, shownStep, unitedSteps } from "@/features/compare/model/completions";
import type { Sample } from "@/lib/api/types";

const sample = (prompt: string, response = "r") => ({ prompt, response }) as Sample;
const all = (...prompts: string[]) => prompts.map((prompt) => sample(prompt));

test("the steps of all runs are one ascending list", () => {
  expect(unitedSteps([[10, 100], [], [2, 10, 30]])).toEqual([2, 10, 30, 100]);
});

test("a run shows the chosen step or the nearest one before it", () => {
  expect([5, 10, 29, 30, 99].map((chosen) => shownStep([10, 30], chosen))).toEqual([null, 10, 10, 30, 30]);
  expect(shownStep([], 5)).toBeNull();
});

test("prompts are matched by their whole text and shared ones come first", () => {
  const rows = promptRows([all("only a", "both"), all("both", "both ", "only b")]);
  expect(rows.map(({ prompt, runs }) => [prompt, runs])).toEqual([
    ["both", 2],
    ["only a", 1],
    ["both ", 1],
    ["only b", 1],
  ]);
});

test("a prompt that a run sampled several times has all its completions", () => {
  const [row] = promptRows([[sample("p", "1"), sample("p", "2")], [sample("p", "3")], []]);
  expect(row?.answers.map((found) => found.map(({ response }) => response))).toEqual([["1", "2"], ["3"], []]);
});

test("a prompt with the name of a property of objects is a prompt", () => {
  expect(promptRows([all("__proto__", "constructor")]).map(({ prompt }) => prompt)).toEqual([
    "__proto__",
    "constructor",
  ]);
});

test.each([
  [[all("a")], 1, "1 prompt."],
  [[all("a", "b"), all("a", "b")], 2, "2 prompts, shared by both runs."],
  [[all("a"), all("b")], 2, "2 prompts, none shared: these runs sampled different prompts here."],
  [[all("a", "b"), all("a", "c")], 2, "3 prompts, 1 shared by both runs."],
  [[all("a", "b"), all("a", "b"), all("a")], 3, "2 prompts, 1 shared by all 3 runs and 1 by some of them."],
])("the text names how many prompts are shared", (runs, count, text) => {
  expect(sharedText(promptRows(runs), count)).toBe(text);
});
