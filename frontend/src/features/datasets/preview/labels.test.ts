import { expect, test } from "vitest";
import { guessLabels } from "@/features/datasets/preview/labels";

test.each([
  ["words", { model_a: "a", model_b: "b", "tie (bothbad)": "tie" }],
  ["words with a number", { response_1: "a", response_2: "b" }],
  ["words that count from 0", { response_0: "a", response_1: "b" }],
  ["sentences", { "A is better": "a", "Response B is better": "b", "Both are bad": "tie" }],
  ["a sentence that names both, or the loser", { "A is better than B": null, "A is worse": null }],
  ["a comparison", { "A>B": "a", "B>A": "b", "A>>B": "a", "B>>A": "b", "A=B": "tie", "A<B": "b", "A<<B": "b" }],
  ["a judge's verdict", { "[[A>B]]": "a", "[[B>>A]]": "b", "[[A=B]]": "tie", "[[A]]": "a" }],
  ["a comparison of numbers", { "1 > 2": "a", "2 > 1": "b", "1 = 2": "tie" }],
  ["signs alone", { ">": "a", "<": "b", "=": "tie" }],
  ["what compares something else", { "A>C": null, "A>=B": null }],
  ["an index from 0", { "0": "a", "1": "b" }],
  ["an index from 1", { "1": "a", "2": "b" }],
  ["an index from 1, and a tie, as in PandaLM", { "0": "tie", "1": "a", "2": "b" }],
  ["an index as a number with a point", { "0.0": "a", "1.0": "b" }],
  ["a sign", { "-3": "a", "-1": "a", "0": "tie", "2": "b" }],
  ["a sign and a word", { "-1": "a", "1": "b", tie: "tie" }],
  ["an index and a word", { "1": "a", "2": "b", tie: "tie" }],
  ["grades, of which nobody knows which way they go", { "1": null, "2": null, "3": null }],
  ["one number alone", { "1": null }],
  ["what says nothing", { left: "a", "?": null, gewinnt: null }],
] as const)("%s", (_, labels) => expect(guessLabels(Object.keys(labels))).toEqual(labels));

test("an empty value has no meaning to choose, and spaces around one are not part of it", () => {
  expect(guessLabels(["", "  ", " a ", "a", "b"])).toEqual({ a: "a", b: "b" });
});
