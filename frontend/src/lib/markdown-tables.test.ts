import { expect, test } from "vitest";
import { markdownParts } from "@/lib/markdown-tables";

test("a table stands between the texts around it", () => {
  const text = "Runs:\n\n| run | KL | win |\n|:--|--:|:-:|\n| a | 1 | **yes** |\n| b | 2 |\n\nDone.";
  expect(markdownParts(text)).toEqual([
    { text: "Runs:\n" },
    {
      head: ["run", "KL", "win"],
      align: ["left", "right", "center"],
      rows: [
        ["a", "1", "**yes**"],
        ["b", "2", ""],
      ],
    },
    { text: "\nDone." },
  ]);
});

test("outer pipes may be left out, and a pipe after a backslash is no border", () => {
  expect(markdownParts("a | b\n--|--\n`x \\| y` | z | more")).toEqual([
    { head: ["a", "b"], align: [undefined, undefined], rows: [["`x | y`", "z"]] },
  ]);
});

test.each([
  "```\n| a | b |\n|---|---|\n```",
  "~~~\n| a |\n|---|\n~~~",
  "    | a | b |\n    |---|---|",
  "| a | b |\n|---|",
  "| a | b |\nand no dashes",
  "a\n---",
  "no table at all",
])("%j is no table", (text) => expect(markdownParts(text)).toEqual([{ text }]));

test("two tables without text between them stay two", () => {
  const table = "| a |\n|---|\n| 1 |";
  expect(markdownParts(`${table}\n\n${table}`)).toHaveLength(2);
});

test("a text without a line has no parts", () => expect(markdownParts("\n")).toEqual([]));
