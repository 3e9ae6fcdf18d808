import { expect, test } from "vitest";
import { metadataPatch, metadataText, tagsOf } from "@/features/job-actions/model/description";

test("tags are separated by commas and occur once", () =>
  expect(tagsOf(" PPO, ablation,,ppo ")).toEqual(["ppo", "ablation"]));

test("metadata as lines and back as a patch", () => {
  const before = { paper: "section 4", owner: "kim" };
  expect(metadataText(before)).toBe("paper = section 4\nowner = kim");
  expect(metadataPatch(before, "paper = section 5\nurl = a=b\n")).toEqual({
    owner: null,
    paper: "section 5",
    url: "a=b",
  });
  expect(() => metadataPatch({}, "a = 1\nno key")).toThrow("Line 2");
});

test("metadata that nobody changed stays as it is", () => {
  const odd = [
    "",
    " ",
    "a",
    " a ",
    "a=b",
    '"',
    '""',
    '"a"',
    '" a "',
    '"a=b"',
    '"a',
    "a\nb = c",
    "a\r\nb",
    '{"x": "=\\n"}',
    "__proto__",
  ];
  const before = Object.fromEntries(odd.flatMap((key) => odd.map((value) => [`${key}${value}`, value])));
  expect(metadataPatch(before, metadataText(before))).toEqual({});
  expect(metadataPatch({}, metadataText(before))).toEqual(before);
  expect(metadataText({ "a=b": "two\nlines", quote: '"Yes"' })).toBe('"a=b" = "two\\nlines"\nquote = "Yes"');
});

test("a key on two lines is refused", () =>
  expect(() => metadataPatch({}, "a = 1\n a=2")).toThrow("Line 2 repeats the key a."));
