import { expect, test } from "vitest";
import { asName } from "@/features/annotation/model/name";

test.each([
  ["  Ada   Lovelace\n", "Ada Lovelace"],
  ["x".repeat(70), "x".repeat(60)],
  [" \t ", null],
  [null, null],
  ["a\ud800\0b 🙂", "a b 🙂"],
])("%o is stored as %o", (typed, name) => {
  expect(asName(typed)).toBe(name);
});
