import { expect, it } from "vitest";
import { winRates } from "@/features/compare/model/win-rates";

const judged = (verdicts: Record<string, number | null>) =>
  Object.entries(verdicts).map(([prompt, judge]) => ({ prompt, judge }));

it("compares runs on the prompts that both answered", () =>
  expect(winRates([judged({ a: 2, b: 1, c: 5, d: 0 }), judged({ a: 1, b: 1, c: 6 })])).toEqual([
    [null, { share: 0.5, prompts: 3 }],
    [{ share: 0.5, prompts: 3 }, null],
  ]));

it("is unknown without a common judged prompt", () =>
  expect(winRates([judged({ a: 2 }), judged({ a: null, b: 3 })])[0]?.[1]).toBeNull());
