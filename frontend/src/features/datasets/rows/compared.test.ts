import { expect, test } from "vitest";
import { compareAnswers } from "@/features/datasets/rows/compared";

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
