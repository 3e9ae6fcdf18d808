import { expect, test } from "vitest";
import { openCount, parametersOf, sortValue, valueText } from "@/features/groups/model/parameters";

test("each parameter of the jobs is a column once", () => {
  const jobs = [{ values: { "ppo.kl.coef": 0.1 } }, { values: { "ppo.kl.coef": 0.2, seed: 3 } }, { values: {} }];
  expect(parametersOf(jobs)).toEqual(["ppo.kl.coef", "seed"]);
});

test("a value is shown as in the spec, a missing one as a dash", () => {
  expect([0.05, "linear", [1, 2], null, undefined].map(valueText)).toEqual([
    "0.05",
    "linear",
    "[1,2]",
    "null",
    "\u2013",
  ]);
});

test("numbers sort by size, other values by their text", () => {
  expect([1e-7, "linear", [1, 2], null, undefined].map(sortValue)).toEqual([
    1e-7,
    "linear",
    "[1,2]",
    "null",
    undefined,
  ]);
});

test("jobs that have ended are not open", () => {
  expect(openCount({ succeeded: 3, failed: 1, running: 2, paused: 1 })).toBe(3);
});
