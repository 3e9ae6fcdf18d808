import { expect, test } from "vitest";
import {
  bars,
  chosenReport,
  linesText,
  ordered,
  placeOf,
  settingsText,
  summaryItems,
  tally,
} from "@/features/datasets/model/report";
import type { Finding } from "@/lib/api/types";

const reports = [
  { id: "rep_3", status: "running" },
  { id: "rep_2", status: "succeeded" },
  { id: "rep_1", status: "succeeded" },
];

test("the one that the address names", () => expect(chosenReport(reports, "rep_1")?.id).toBe("rep_1"));
test("without a name, or with an old one, the newest that is done", () => {
  expect(chosenReport(reports, null)?.id).toBe("rep_2");
  expect(chosenReport(reports, "rep_gone")?.id).toBe("rep_2");
});
test("while none is done, the newest", () => expect(chosenReport(reports.slice(0, 1), null)?.id).toBe("rep_3"));
test("none at all", () => expect(chosenReport([], null)).toBeNull());

test.each([
  [{ model: null, eval_fraction: 0.1 }, "without a model"],
  [
    { model: "ckpt_1", chat_template: "auto", max_prompt_tokens: 512, max_completion_tokens: 256 },
    "for ckpt_1, 512 + 256 tokens",
  ],
  [{ model: "models/tiny", chat_template: "none" }, "for models/tiny, no chat template"],
])("%o", (settings, text) => expect(settingsText(settings)).toBe(text));

test("rows come first, steps last, and what there is none of not at all", () => {
  const summary = { ties: 80, steps_sft: 35, rows: 1346, rankings: 0, prompts_too_long: 2 };
  expect(summaryItems(summary)).toEqual([
    ["rows", 1346],
    ["ties", 80],
    ["prompts too long", 2],
    ["steps of SFT", 35],
  ]);
});

const lengths = { edges: [0, 10, 20, 900], counts: [5, 20, 0] };

test("each bar is as high as its count", () => {
  expect(bars(lengths)).toEqual([
    { from: 0, to: 10, count: 5, height: 0.25 },
    { from: 10, to: 20, count: 20, height: 1 },
    { from: 20, to: 900, count: 0, height: 0 },
  ]);
});

test("one row among a million is still to be seen", () => {
  expect(bars({ edges: [0, 1, 2], counts: [1_000_000, 1] })[1]?.height).toBeGreaterThan(0.01);
});

test.each([
  [0, 0],
  [15, 0.5],
  [900, 1],
  [901, null],
])("the value %i stands at %s", (value, place) => expect(placeOf(value, lengths)).toBe(place));

test("no bars, and one of no width, have a place for nothing and for their value", () => {
  expect([bars({ edges: [], counts: [] }), placeOf(1, { edges: [], counts: [] })]).toEqual([[], null]);
  expect(placeOf(7, { edges: [7, 7], counts: [3] })).toBe(0);
});

type Severity = Finding["severity"];

const finding = (code: string, severity: Severity, count: number): Finding => ({
  code,
  severity,
  title: code,
  detail: "",
  count,
  share: null,
  lines: [],
  samples: [],
  fix: null,
});

test("what blocks comes first, then the most rows; each knows where it is from", () => {
  const imported = [finding("columns_ignored", "info", 900), finding("empty_text", "blocking", 2)];
  const reported = [finding("ties", "warning", 5), finding("duplicates", "warning", 12)];
  expect(ordered(imported, reported, "rep_1").map(({ finding: { code }, report }) => [code, report])).toEqual([
    ["empty_text", null],
    ["duplicates", "rep_1"],
    ["ties", "rep_1"],
    ["columns_ignored", null],
  ]);
});

test.each([
  [[7], 1, "line 7"],
  [[3, 1700], 2, "lines 3, 1,700"],
  [[1, 2, 3, 4, 5, 6, 7, 8, 9], 1200, "lines 1, 2, 3, 4, 5, 6, 7, 8 and 1,192 more"],
  [[], 4, ""],
])("lines %o of %i", (lines, count, text) => expect(linesText({ lines, count })).toBe(text));

test("the tally counts kinds of trouble, not rows", () => {
  expect(tally([finding("a", "blocking", 9), finding("b", "warning", 1), finding("c", "info", 1)])).toBe(
    "1 blocking, 1 to look at",
  );
  expect(tally([finding("c", "info", 1)])).toBe("No blocking findings or warnings");
});
