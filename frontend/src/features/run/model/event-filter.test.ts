import { expect, test } from "vitest";
import { filterEvents, readEventFilter, typesOf, writeEventFilter } from "@/features/run/model/event-filter";
import type { JobEvent } from "@/lib/api/types";

const event = (seq: number, type: string, stage: string | null, data: object) =>
  ({ seq, type, stage, step: seq, attempt: 1, created_at: "2026-01-01T00:00:00Z", data }) as JobEvent;
const log = [
  event(1, "message", null, { level: "info", text: "Loading the model" }),
  event(2, "message", "sft", { level: "warning", text: "Long rows are cut" }),
  event(3, "checkpoint_saved", "sft", { final: true }),
  event(4, "run_failed", "ppo", { code: "out_of_memory", message: "CUDA ran out" }),
];
const done = event(5, "stage_finished", "ppo", { seconds: 1, summary: { "score/mean": 2 } });
const NONE = { text: "", type: "", stage: "", trouble: false };
const found = (change: object) => filterEvents(log, { ...NONE, ...change }).map(({ seq }) => seq);

test("newest first; each part of the filter narrows", () => {
  expect(found({})).toEqual([4, 3, 2, 1]);
  expect(found({ trouble: true })).toEqual([4, 2]);
  expect(found({ stage: "sft" })).toEqual([3, 2]);
  expect(found({ type: "message", trouble: true })).toEqual([2]);
});

test("every word counts, in the line as it is shown", () => {
  expect(found({ text: "MODEL load" })).toEqual([1]);
  expect(found({ text: "checkpoint result" })).toEqual([3]);
  expect(found({ text: "#4" })).toEqual([4]);
});

test("a figure is found by its label and by its name", () => {
  const labelOf = () => "Mean score";
  const seqs = (text: string) => filterEvents([done], { ...NONE, text }, labelOf).map(({ seq }) => seq);
  expect([seqs("mean score 2"), seqs("score/mean"), seqs("kl")]).toEqual([[5], [5], []]);
});

test("the filter is kept in the address, and its parts without a choice are not", () => {
  const filter = { ...NONE, text: "cuda", trouble: true };
  const params = writeEventFilter(new URLSearchParams("tab=events&type=health"), filter);
  expect(params.toString()).toBe("tab=events&find=cuda&trouble=1");
  expect(readEventFilter(params)).toEqual(filter);
});

test("only the types that occur are offered", () => {
  expect(typesOf(log)).toEqual(["checkpoint_saved", "message", "run_failed"]);
});
