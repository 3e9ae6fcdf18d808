import { expect, test } from "vitest";
import { sorted, toggled } from "@/features/run/model/completions";
import type { Sample } from "@/lib/api/types";

const row = (response: string, score: number | null): Sample => ({
  prompt: "p",
  response,
  score,
  kl: null,
  tokens: null,
  finished: null,
  judge: null,
  reference: null,
  reference_score: null,
  reference_judge: null,
  held_out: false,
});
const rows = [row("none", null), row("low", -1), row("high", 2)];
const names = (list: readonly Sample[]) => list.map((one) => one.response);

test("greatest first, least first; what has no figure is last either way", () => {
  expect(names(sorted(rows, { key: "score", descending: true }))).toEqual(["high", "low", "none"]);
  expect(names(sorted(rows, { key: "score", descending: false }))).toEqual(["low", "high", "none"]);
});

test("without a sorting the run's own order stays", () => expect(sorted(rows, null)).toBe(rows));

test("three clicks on a column lead back to the start", () => {
  const once = toggled(null, "kl");
  const twice = toggled(once, "kl");
  expect([once, twice, toggled(twice, "kl")]).toEqual([
    { key: "kl", descending: true },
    { key: "kl", descending: false },
    null,
  ]);
});
