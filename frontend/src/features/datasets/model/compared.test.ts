import { expect, test } from "vitest";
import { compareAnswers, startOf } from "@/features/datasets/model/compared";

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
});
