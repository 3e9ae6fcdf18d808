import { expect, test } from "vitest";
import { guessLabels } from "@/features/datasets/model/labels";

test.each([
  ["words", { model_a: "a", model_b: "b", "tie (bothbad)": "tie" }],
  ["sentences", { "A is better": "a", "Response B is better": "b", "Both are bad": "tie" }],
  ["a sentence that names both, or the loser", { "A is better than B": null, "A is worse": null }],
  ["a comparison", { "A>B": "a", "B>A": "b", "A>>B": "a", "B>>A": "b", "A=B": "tie", "A<B": "b", "A<<B": "b" }],
  ["a judge's verdict", { "[[A>B]]": "a", "[[B>>A]]": "b", "[[A=B]]": "tie", "[[A]]": "a" }],
  ["a comparison of numbers", { "1 > 2": "a", "2 > 1": "b", "1 = 2": "tie" }],
  ["signs alone", { ">": "a", "<": "b", "=": "tie" }],
  ["what compares something else", { "A>C": null, "A>=B": null }],
  ["numbers, which count from 0 or from 1, or are signs", { "0": null, "1": null, "2": null, "-1": null }],
  ["truth values, which may be about either", { true: null, false: null }],
  ["a number and a word", { "1": null, "2": null, tie: "tie" }],
  ["grades whose direction is unknown", { "1": null, "2": null, "3": null }],
  ["one number alone", { "1": null }],
  ["what says nothing", { left: "a", "?": null, gewinnt: null }],
] as const)("%s", (_, labels) => expect(guessLabels(Object.keys(labels))).toEqual(labels));

test.each([
  ["numbers", { "1": "a", "2": "b" }, ["response_1", "response_2"]],
  ["numbers from 0", { "0.0": "a", "1.0": "b" }, ["answer_0", "answer_1"]],
  ["words with a number", { response_1: "a", "Response 2 is better": "b" }, ["response_1", "response_2"]],
  ["paths", { "1": "a", "2": "b" }, ["answers.1.text", "answers.2.text"]],
  ["a number that is neither", { "0": null, "1": "a", "2": "b" }, ["response_1", "response_2"]],
  ["grades", { "1": null, "2": null, "3": null }, ["response_1", "response_2"]],
] as const)("%s mean the columns that end with them", (_, labels, [a, b]) =>
  expect(guessLabels(Object.keys(labels), { a, b })).toEqual(labels),
);

test("an empty value has no meaning to choose, and spaces around one are not part of it", () => {
  expect(guessLabels(["", "  ", " a ", "a", "b"])).toEqual({ a: "a", b: "b" });
});
