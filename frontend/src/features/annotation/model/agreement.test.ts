import { expect, test } from "vitest";
import { alphaInWords, isBiased, wilson, winRate } from "@/features/annotation/model/agreement";

test.each([
  [null, "Every answer is the same so far, which chance alone would explain."],
  [0.85, "Reliable."],
  [0.7, "Enough for tentative conclusions."],
  [0.4, "Better than chance, below what counts as reliable."],
  [-0.2, "No better than chance: are the instructions clear?"],
])("α %o: %s", (alpha, words) => {
  expect(alphaInWords(alpha)).toBe(words);
});

test("Wilson's interval of 8 in 10", () => {
  // By hand: (0.8 + 0.19207) / 1.38415 ± 1.959964 · √(0.016 + 0.0096036) / 1.38415.
  const { rate, low, high } = wilson(8, 10) ?? { rate: 0, low: 0, high: 0 };
  expect(rate).toBe(0.8);
  expect(low).toBeCloseTo(0.4902, 4);
  expect(high).toBeCloseTo(0.9433, 4);
});

test("an interval stays within 0 and 1, and of nothing there is none", () => {
  expect(wilson(0, 5)?.low).toBe(0);
  expect(wilson(5, 5)?.high).toBe(1);
  expect(wilson(0, 0)).toBeNull();
});

test("a side is preferred only when chance would hardly do it", () => {
  expect(isBiased(wilson(8, 10))).toBe(false);
  expect(isBiased(wilson(80, 100))).toBe(true);
  expect(isBiased(wilson(20, 100))).toBe(true);
  expect(isBiased(null)).toBe(false);
});

test("a tie is half a win", () => {
  expect(winRate({ wins: 6, losses: 2, ties: 2 })).toBe(0.7);
  expect(winRate({ wins: 0, losses: 0, ties: 0 })).toBeNull();
});
