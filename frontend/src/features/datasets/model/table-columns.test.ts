import { expect, test } from "vitest";
import { readRow } from "@/features/datasets/model/read-row";
import { tableColumns } from "@/features/datasets/model/table-columns";

const table = (...rows: Record<string, unknown>[]) => {
  const read = rows.map(readRow);
  const columns = tableColumns(read);
  return [columns.map((column) => column.title), ...read.map((row) => columns.map((column) => column.cell(row).text))];
};

test("a pair has its two sides, and a verdict where one is a tie", () => {
  const [a, b] = [
    { prompt: "q", a: "one", b: "two", label: "b" },
    { prompt: "r", a: "x", b: "y", label: "tie" },
  ];
  expect(table(a)).toEqual([
    ["Prompt", "A", "B"],
    ["q", "one", "two"],
  ]);
  expect(table(a, b)[2]).toEqual(["r", "x", "y", "tie"]);
});

test("rows without answers have the prompt alone", () => {
  expect(table({ prompt: [{ role: "user", content: "hi" }] })).toEqual([["Prompt"], ["hi"]]);
});
