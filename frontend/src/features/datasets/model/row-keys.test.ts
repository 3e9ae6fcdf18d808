import { expect, test } from "vitest";
import { keyAction } from "@/features/datasets/model/row-keys";

const press = (key: string, more = {}) => ({ key, ctrlKey: false, metaKey: false, altKey: false, ...more });

test("letters move through the rows", () => {
  expect(["j", "k", "n", "p", "d", "/"].map((key) => keyAction(press(key), false))).toEqual([
    "next",
    "previous",
    "nextPage",
    "previousPage",
    "diff",
    "search",
  ]);
});

test("nothing is taken from a field or from the browser", () => {
  expect(keyAction(press("j"), true)).toBeNull();
  expect(keyAction(press("d", { ctrlKey: true }), false)).toBeNull();
  expect(keyAction(press("x"), false)).toBeNull();
});
