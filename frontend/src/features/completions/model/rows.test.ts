import { expect, test } from "vitest";
import { placeOf } from "@/features/completions/model/place";
import {
  binsOf,
  histogramOf,
  matching,
  missingOf,
  type Row,
  rowsOf,
  scoreText,
  sorted,
  within,
} from "@/features/completions/model/rows";
import type { Sample } from "@/lib/api/types";

const sample = (response: string, score: number | null, more: Partial<Sample> = {}): Sample => ({
  prompt: "Prompt",
  response,
  score,
  held_out: false,
  ...more,
});
const rows = rowsOf([sample("none", null), sample("low", -1), sample("high", 2)], "ppo", 7);
const names = (list: readonly Row[]) => list.map((one) => one.sample.response);
const place = (address: string) => placeOf(new URLSearchParams(address));

test("greatest first, least first; what has no figure is last either way", () => {
  expect(names(sorted(rows, "score", "highest"))).toEqual(["high", "low", "none"]);
  expect(names(sorted(rows, "score", "lowest"))).toEqual(["low", "high", "none"]);
  expect(sorted(rows, "score", "newest")).toBe(rows);
});

test("a score that is missing is stated in words, with its cause", () => {
  const late = sample("late", null, { score_missing: "time_out", judge_missing: "bad_output" });
  expect([missingOf(late, "score"), missingOf(late, "judge"), missingOf(late, "kl")]).toEqual([
    "time_out",
    "bad_output",
    null,
  ]);
  expect(scoreText(null, "time_out")).toBe("no value (time-out)");
  expect(scoreText(null, "bad_output")).toBe("no value (bad output)");
  expect([scoreText(0, null), scoreText(null, undefined)]).toEqual(["0.00", null]);
});

test("text, end and origin select rows", () => {
  const some = rowsOf(
    [sample("A dog", 1, { finished: true }), sample("cat", 1, { finished: false }), sample("d", 1, { held_out: true })],
    "ppo",
    7,
  );
  expect(names(matching(some, place("q=DOG")))).toEqual(["A dog"]);
  expect(names(matching(some, place("q=prompt&ended=cut")))).toEqual(["cat"]);
  expect(names(matching(some, place("ended=eos")))).toEqual(["A dog"]);
  expect(names(matching(some, place("prompts=held_out")))).toEqual(["d"]);
});

test("a range includes both ends and no row without the figure", () => {
  expect(names(within(rows, { by: "score", min: -1, max: 2 }))).toEqual(["low", "high"]);
  expect(names(within(rows, { by: "score", min: null, max: 0 }))).toEqual(["low"]);
  expect(within(rows, { by: "score", min: null, max: null })).toBe(rows);
});

test("bins have equal widths, and the last one its upper edge", () => {
  const values = rowsOf(
    [0, 0.9, 1, 10, 20].map((score) => sample("x", score)),
    "ppo",
    1,
  );
  const histogram = histogramOf(values, "score");
  const counts = Array.from({ length: 20 }, () => 0);
  [counts[0], counts[1], counts[10], counts[19]] = [2, 1, 1, 1];
  expect(histogram).toEqual({ by: "score", low: 0, high: 20, counts });
  const bins = binsOf(histogram);
  expect(bins[0]).toEqual({ from: 0, to: 1, count: 2, height: 1 });
  expect(bins[19]).toEqual({ from: 19, to: 20, count: 1, height: 0.5 });
  const wide = binsOf(histogram, 2);
  expect(wide).toHaveLength(10);
  expect(wide[0]).toEqual({ from: 0, to: 2, count: 3, height: 1 });
  expect(wide[9]).toEqual({ from: 18, to: 20, count: 1, height: 1 / 3 });
});

test("equal figures make one bin, and none make none", () => {
  expect(binsOf(histogramOf(rowsOf([sample("x", 3), sample("y", 3)], "ppo", 1), "score"))).toEqual([
    { from: 3, to: 3, count: 2, height: 1 },
  ]);
  expect(binsOf(histogramOf(rows, "judge"))).toEqual([]);
});
