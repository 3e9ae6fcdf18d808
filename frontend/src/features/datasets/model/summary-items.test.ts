import { expect, test } from "vitest";
import { summaryItems } from "@/features/datasets/model/summary-items";

test("rows come first, steps last, and what there is none of not at all", () => {
  const summary = { ties: 80, steps_sft: 35, rows: 1346, rankings: 0, prompts_too_long: 2 };
  expect(summaryItems(summary)).toEqual([
    ["rows", 1346],
    ["ties", 80],
    ["prompts too long", 2],
    ["steps of SFT", 35],
  ]);
});
