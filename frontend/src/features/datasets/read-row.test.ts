import { expect, test } from "vitest";
import { readRow } from "@/features/datasets/read-row";

test("marks the preferred answer", () => {
  const { answers, tie } = readRow({ prompt: "q", a: "one", b: "two", label: "b" });
  expect(answers.map((answer) => answer.preferred)).toEqual([false, true]);
  expect(tie).toBe(false);
});

test("a tie prefers neither", () => {
  const { answers, tie } = readRow({ prompt: "q", a: "one", b: "two", label: "tie" });
  expect([answers.some((answer) => answer.preferred), tie]).toEqual([false, true]);
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
