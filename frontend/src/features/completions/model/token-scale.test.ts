import { expect, test } from "vitest";
import { colourAt, cssColour, MEASURES, measuresIn, scaleOf, ticksOf } from "@/features/completions/model/token-scale";
import type { TokenRow } from "@/lib/api/types";

const tokens = (id: "kl" | "ratio" | "entropy", ...values: (number | null)[]): TokenRow[] =>
  values.map((value) => ({ text: "x", [id]: value }));
const measure = (id: string) => MEASURES.find((one) => one.id === id) ?? MEASURES[0];

test("only measures with numbers are offered", () => {
  expect(measuresIn([tokens("kl", null, 0.5), tokens("entropy", null)]).map(({ id }) => id)).toEqual(["kl"]);
});

test("a diverging scale is even on both sides of its middle", () => {
  const scale = scaleOf(measure("kl"), [tokens("kl", -0.5, 2), tokens("kl", 1)]);
  expect(scale).toMatchObject({ reach: 2, cut: false });
  expect([-2, -0.5, 0, 2, 9, null].map((value) => colourAt(value, scale))).toEqual([-1, -0.25, 0, 1, 1, null]);
  expect(ticksOf(scale).map(({ value }) => value)).toEqual([-2, -1, 0, 1, 2]);
});

test("a ratio of 2 is as far from 1 as one of ½", () => {
  const scale = scaleOf(measure("ratio"), [tokens("ratio", 1, 2, 1.5)]);
  expect(colourAt(0.5, scale)).toBeCloseTo(-1);
  expect(ticksOf(scale)[0]?.value).toBeCloseTo(0.5);
});

test("one value far out does not take the colour from the others", () => {
  const scale = scaleOf(measure("kl"), [tokens("kl", ...Array.from({ length: 99 }, () => 1), 50)]);
  expect(scale).toMatchObject({ reach: 1, cut: true });
});

test("without any difference nothing is coloured", () => {
  const scale = scaleOf(measure("ratio"), [tokens("ratio", 1, 1)]);
  expect(colourAt(1, scale)).toBe(0);
  expect(cssColour(0)).toBeUndefined();
});

test("entropy has one colour, from 0", () => {
  const scale = scaleOf(measure("entropy"), [tokens("entropy", 0, 4)]);
  expect(ticksOf(scale)).toEqual([
    { at: 0, value: 0 },
    { at: 0.5, value: 2 },
    { at: 1, value: 4 },
  ]);
  expect(cssColour(0.5)).toBe("color-mix(in srgb, var(--token-high) 31.0%, transparent)");
  expect(cssColour(-1)).toBe("color-mix(in srgb, var(--token-low) 62.0%, transparent)");
});
