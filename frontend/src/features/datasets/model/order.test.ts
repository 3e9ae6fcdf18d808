import { expect, test } from "vitest";
import { linesText, ordered, tally } from "@/features/datasets/model/order";
import type { Finding } from "@/lib/api/types";

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
  expect(tally([finding("c", "info", 1)])).toBe("Nothing to worry about");
});
