import { expect, test } from "vitest";
import { readRow, tableColumns } from "@/features/datasets/model/rows";

test("marks the preferred answer", () => {
  const { answers, verdict } = readRow({ prompt: "q", a: "one", b: "two", label: "b" });
  expect(answers.map((answer) => answer.preferred)).toEqual([false, true]);
  expect(verdict).toBeNull();
});

test("a tie prefers neither", () => {
  const { answers, verdict } = readRow({ prompt: "q", a: "one", b: "two", label: "tie" });
  expect([answers.some((answer) => answer.preferred), verdict]).toEqual([false, "tie"]);
});

test("a single answer shows its thumb", () => {
  const { answers, verdict, extra } = readRow({ prompt: "q", completion: "one", thumb: "down" });
  expect([answers.map((answer) => answer.text), verdict, extra]).toEqual([["one"], "thumb down", []]);
});

test("a solution shows each step with its label", () => {
  const row = { prompt: "q", steps: ["one", "two"], labels: ["good", "bad"], source: "web" };
  const { answers, steps, verdict, extra } = readRow(row);
  expect(steps).toEqual([
    { text: "one", label: "good" },
    { text: "two", label: "bad" },
  ]);
  expect([answers, verdict, extra]).toEqual([[], null, [["source", "web"]]]);
  expect(table(row)).toEqual([
    ["Prompt", "Steps"],
    ["q", "good: one\nbad: two"],
  ]);
});

test("a prompt of messages keeps its roles", () => {
  const prompt = [
    { role: "system", content: "be brief" },
    { role: "user", content: "hi" },
  ];
  expect(readRow({ prompt }).prompt).toEqual([
    { role: "system", text: "be brief" },
    { role: "user", text: "hi" },
  ]);
});

test("what else a row carries is shown too", () => {
  expect(readRow({ prompt: "q", completion: "c", source: "web", margin: 2, annotator: null }).extra).toEqual([
    ["source", "web"],
    ["margin", "2"],
  ]);
});

test("a ranking is shown best first, its winners marked", () => {
  const { answers } = readRow({ prompt: "q", completions: ["bad", "good", "fine"], ranks: [3, 1, 2] });
  expect(answers.map(({ name, text, preferred }) => [name, text, preferred])).toEqual([
    ["Rank 1", "good", true],
    ["Rank 2", "fine", false],
    ["Rank 3", "bad", false],
  ]);
});

test("of a ranking of equals none is preferred", () => {
  const { answers } = readRow({ prompt: "q", completions: ["one", "two"], ranks: [1, 1] });
  expect(answers.some((answer) => answer.preferred)).toBe(false);
});

test("a conversation and a plain text are read too", () => {
  const messages = [
    { role: "user", content: "hi" },
    { role: "assistant", content: "hello" },
  ];
  expect(readRow({ messages }).prompt.map((turn) => turn.role)).toEqual(["user", "assistant"]);
  expect(readRow({ text: "once upon" })).toEqual({
    prompt: [{ role: null, text: "once upon" }],
    answers: [],
    steps: [],
    verdict: null,
    extra: [],
  });
});

test("the answer that a reward checks is shown", () => {
  expect(readRow({ prompt: "6 × 7", answer: 42 }).extra).toEqual([["answer", "42"]]);
});

test("a pair without a verdict is marked, and a ranking without ranks keeps its order", () => {
  expect(readRow({ prompt: "q", a: "one", b: "two", label: null }).verdict).toBe("unlabelled");
  const ranking = readRow({ prompt: "q", completions: ["one", "two"], ranks: null });
  expect(ranking.answers.map(({ name, preferred }) => [name, preferred])).toEqual([
    ["Answer 1", false],
    ["Answer 2", false],
  ]);
  expect(ranking.verdict).toBe("unlabelled");
});

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
