import { expect, test } from "vitest";
import { MEASURES } from "@/features/completions/model/token-scale";
import { factsOf, nextToken, tokenLabel, tokenText } from "@/features/completions/model/token-text";
import { NO_VALUE } from "@/lib/format";

const kl = MEASURES[0];

test("whitespace in tokens is visible", () => {
  expect(tokenText(" the")).toBe("·the");
  expect(tokenText("\n\n")).toBe("↵\n↵\n");
  expect(tokenText("\u0000\t")).toBe("␀⇥\t");
});

test("a screen reader hears the token, its number and its marks", () => {
  expect(tokenLabel({ text: " the", kl: 0.25, clipped: true }, kl)).toBe("the, KL 0.250, clipped");
  expect(tokenLabel({ text: " \n", kl: null }, kl)).toBe("space line break, KL not recorded");
  expect(tokenLabel({ text: "<|eos|>", kl: -1, special: true }, kl)).toBe("<|eos|>, KL −1, special token");
});

test("every number of a token is listed, also one that is missing", () => {
  const facts = factsOf({ text: "x", kl: 0.5, logprob: Math.log(0.25), clipped: false });
  expect(facts.find(({ name }) => name === "Probability")?.value).toBe("0.250");
  expect(facts.find(({ name }) => name === "Entropy")?.value).toBe(NO_VALUE);
  expect(facts.at(-1)).toEqual({ name: "Clipped", value: "no" });
});

test("keys stay within the tokens", () => {
  const lines = { up: -4, down: 12 };
  const keys = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "a"];
  expect(keys.map((key) => nextToken(key, 3, 10, lines))).toEqual([2, 4, 0, 9, 0, 9, null]);
});
