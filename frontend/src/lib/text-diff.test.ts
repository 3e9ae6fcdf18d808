import { expect, test } from "vitest";
import { compareAnswers, diffTexts, startOf } from "@/lib/text-diff";

const plain = (text: string) => ({ text, changed: false });
const changed = (text: string) => ({ text, changed: true });

test("each side keeps its own words, and marks those that the other one lacks", () => {
  const { a, b } = diffTexts("the film was good", "the film was very bad");
  expect(a).toEqual([plain("the film was "), changed("good")]);
  expect(b).toEqual([plain("the film was "), changed("very bad")]);
});

test("words that changed side by side are one change", () => {
  expect(diffTexts("so one two end", "so three four end").a).toEqual([plain("so "), changed("one two"), plain(" end")]);
});

test("whitespace that differs is a difference", () => {
  expect(diffTexts("one\ntwo", "one two").a.some((part) => part.changed)).toBe(true);
});

test("put together again, each side is the text that it was", () => {
  const [a, b] = ["ünï 🙂 dog. ", "un 🙃 dog!\n"];
  const diff = diffTexts(a, b);
  expect([diff.a, diff.b].map((side) => side.map((part) => part.text).join(""))).toEqual([a, b]);
});

test("equal texts have no difference", () => {
  expect(diffTexts("same", "same")).toEqual({ a: [plain("same")], b: [plain("same")], tooLong: false });
});

test("two long texts without a word in common are shown as they are", () => {
  const words = (letter: string) => Array.from({ length: 40_000 }, (_, n) => `${letter}${n}`).join(" ");
  const diff = diffTexts(words("x"), words("y"));
  expect(diff.tooLong).toBe(true);
  expect(diff.a).toEqual([plain(words("x"))]);
});

const answers = (...texts: string[]) => texts.map((text, index) => ({ name: `${index}`, text, preferred: false }));
const marked = (...texts: string[]) =>
  compareAnswers(answers(...texts)).parts.map(
    (parts) => parts && parts.filter((part) => part.changed).map((part) => part.text),
  );

test("two answers are each marked where they differ", () => {
  expect(marked("a red car", "a blue car")).toEqual([["red"], ["blue"]]);
});

test("of a ranking the best one stays plain, the others are marked against it", () => {
  expect(marked("a red car", "a blue car", "a red bus")).toEqual([null, ["blue"], ["bus"]]);
});

test("one answer alone has nothing to differ from", () => expect(marked("alone")).toEqual([null]));

test("a folded text keeps its marks", () => {
  const parts = [
    { text: "a ", changed: false },
    { text: "red car", changed: true },
    { text: " stops", changed: false },
  ];
  expect(startOf(parts, 5)).toEqual([
    { text: "a ", changed: false },
    { text: "red", changed: true },
  ]);
  expect(startOf(parts, 100)).toEqual(parts);
  expect(startOf([plain("a👍")], 2)).toEqual([plain("a")]);
});
