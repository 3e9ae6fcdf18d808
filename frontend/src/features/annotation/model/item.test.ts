import { expect, test } from "vitest";
import { inWords } from "@/features/annotation/model/item";

test("a choice is said in words", () => {
  expect(inWords({ choice: "2" })).toBe("second is better");
});

test("a ranking is said best first, ties joined", () => {
  expect(inWords({ ranks: [2, 1, 2, 3] })).toBe("2 › 1 = 3 › 4");
});
