import { expect, test } from "vitest";
import { numberFault, numberIn } from "@/lib/numbers";

test.each([
  ["0.05", 0.05], ["1e-5", 1e-5], [" 12 ", 12], ["1_000", 1000], ["−3", -3], ["+.5", 0.5], ["5.", 5], ["1E3", 1000], ["1e−3", 1e-3],
] as const)("%j is %d", (text, value) => expect(numberIn(text)).toBe(value)); // prettier-ignore

test.each(["0.0o5", "abc", "1e", "--3", "0x10", "0b1", "Infinity", "NaN", "1 000", "1__0", "_1", "1.2.3", ".", "-", "1e5.5", ""])(
  "%j is no number",
  (text) => expect(() => numberIn(text)).toThrow(`“${text}” is no number. Enter a number.`),
); // prettier-ignore

test("a fault names the remedy", () => {
  expect(numberFault("1,5")).toBe("“1,5” is no number. Write a point in place of the comma.");
  expect(numberFault("1e999")).toBe("“1e999” is too large. Enter a number.");
  expect(numberFault("1.5", { integer: true })).toBe("Enter a whole number.");
  expect(numberFault("9007199254740993", { integer: true })).toBe(
    "“9007199254740993” is too large. Enter a whole number.",
  );
  expect(numberFault("-2.5e-400")).toBe("“-2.5e-400” is too close to 0. Enter a number.");
  expect(numberFault("0e-400")).toBe("");
  expect(numberFault("0", { integer: true, min: 1 })).toBe("Enter a whole number of at least 1.");
  expect(numberFault("51", { max: 50 })).toBe("Enter a number of at most 50.");
  expect(numberFault("")).toBe("");
  expect(() => numberIn("soon", {}, ", or auto")).toThrow("“soon” is no number. Enter a number, or auto.");
});
