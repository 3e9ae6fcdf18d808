import { expect, test } from "vitest";
import { parseJson } from "@/features/job-form/model/json";

test("a JSON text is read", () => {
  const text = '{"a": [1, -0.5, 1e22, 1e-7, "x: {,", "\\"", null, true], "b": {"a": 100000000000000000000}}';
  expect(parseJson(text)).toEqual({ a: [1, -0.5, 1e22, 1e-7, "x: {,", '"', null, true], b: { a: 1e20 } });
  expect(() => parseJson('{"a": 1,\n "b" 2}')).toThrow(/^Line 2: this is not valid JSON\./);
  expect(() => parseJson("NaN")).toThrow("this is not valid JSON");
});

test.each(["9007199254740993", "-123456789012345678", "1e400", "-1e400", "1e-400", "1" + "0".repeat(400)])(
  "the number %s, which JavaScript changes, is refused",
  (token) => {
    expect(() => parseJson(`{\n"a": [${token}]}`)).toThrow(
      `Line 2: ${token} is too large or too precise for a number.`,
    );
  },
);

test("a name that stands twice is refused, in its own object alone", () => {
  expect(() => parseJson('{"a": 1, "b": {"c": ["a"],\n"\\u0063": 2}}')).toThrow('Line 2: the name "c" stands twice.');
  expect(parseJson('[{"a": {"a": "a"}}, {"a": 1}]')).toEqual([{ a: { a: "a" } }, { a: 1 }]);
});
