import { describe, expect, test } from "vitest";
import { emptyRun, fromSnapshot, ofSeed, reduce } from "@/features/run/model/state";
import type { JobEvent } from "@/lib/api/types";

const event = (seq: number, type: string, data: Record<string, unknown>) =>
  ({
    seq,
    type,
    created_at: "2026-01-01T00:00:00Z",
    attempt: 1,
    seed: null,
    stage: data.stage,
    step: data.step,
    data,
  }) as JobEvent;
const metrics = (seq: number, step: number, values: Record<string, number>, stage = "ppo") =>
  event(seq, "metrics", { stage, step, values });
const samples = (seq: number, step: number, ...responses: string[]) =>
  event(seq, "samples", { stage: "ppo", step, rows: responses.map((response) => ({ prompt: "p", response })) });

describe("reduce", () => {
  test("keys points by stage, step and name", () => {
    const run = reduce(emptyRun, [metrics(1, 1, { loss: 3 }, "sft"), metrics(2, 1, { loss: 0.7 }, "reward_model")]);
    expect(run.series.sft?.loss?.values).toEqual([3]);
    expect(run.series.reward_model?.loss?.values).toEqual([0.7]);
    expect(run.lastSeq).toBe(2);
  });

  test("a repeated event changes nothing, not even the identity of the state", () => {
    const run = reduce(emptyRun, [metrics(1, 1, { kl: 0.1 })]);
    expect(reduce(run, [metrics(1, 1, { kl: 0.1 })])).toBe(run);
  });

  test("steps re-run by a second attempt replace those of the first", () => {
    const first = reduce(emptyRun, [
      metrics(1, 1, { kl: 0.1 }),
      metrics(2, 2, { kl: 0.2 }),
      metrics(3, 3, { kl: 0.3 }),
    ]);
    const second = reduce(first, [metrics(4, 2, { kl: 0.25 }), metrics(5, 3, { kl: 0.35 })]);
    expect(second.series.ppo?.kl).toMatchObject({ steps: [1, 2, 3], values: [0.1, 0.25, 0.35] });
  });

  test("one batch or many give the same state", () => {
    const events = [
      metrics(1, 1, { kl: 1 }),
      samples(2, 1, "a"),
      event(3, "message", { text: "x" }),
      metrics(4, 2, { kl: 2 }),
    ];
    const singly = events.reduce((run, one) => reduce(run, [one]), emptyRun);
    expect(singly).toEqual(reduce(emptyRun, events));
  });

  test("events that arrive out of order are put in order", () => {
    const run = reduce(emptyRun, [event(3, "message", { text: "late" }), event(2, "message", { text: "early" })]);
    expect(run.log.map((entry) => entry.seq)).toEqual([2, 3]);
  });

  test("events of each step are not in the log", () => {
    const card = event(3, "critic_card", { stage: "ppo", step: 1, card: {} });
    const run = reduce(emptyRun, [
      metrics(1, 1, { kl: 1 }),
      samples(2, 1, "a"),
      card,
      event(4, "message", { text: "x" }),
    ]);
    expect(run.log.map((entry) => entry.seq)).toEqual([4]);
    expect(run.lastSeq).toBe(4);
  });

  test("a series that an event does not touch keeps its identity, so its chart is not redrawn", () => {
    const before = reduce(emptyRun, [metrics(1, 1, { kl: 1, "eval/score": 2 })]);
    const after = reduce(before, [metrics(2, 2, { kl: 1 })]);
    expect(after.series.ppo?.["eval/score"]).toBe(before.series.ppo?.["eval/score"]);
    expect(after.series.ppo?.kl).not.toBe(before.series.ppo?.kl);
  });

  test("keeps the completions of each step, the newest for a step that is repeated", () => {
    const run = reduce(emptyRun, [samples(1, 10, "old"), samples(2, 20, "b"), samples(3, 10, "new")]);
    expect(run.sampleSteps.ppo).toEqual([10, 20]);
    expect(run.samples["ppo/10"]?.map((row) => row.response)).toEqual(["new"]);
  });
});

describe("a snapshot", () => {
  const snapshot = {
    lastSeq: 5,
    series: [{ seed: null, stage: "ppo", name: "kl", steps: [1, 2], values: [0.1, 0.2] }],
    log: [event(1, "run_started", {}), event(6, "message", { text: "newer than the metrics" })],
    sampleSteps: { ppo: [1] },
    lastEventAt: null,
  };

  test("followed by the stream from its number on loses and repeats nothing", () => {
    const run = reduce(fromSnapshot(snapshot), [
      metrics(5, 2, { kl: 0.2 }),
      event(6, "message", { text: "newer than the metrics" }),
      metrics(7, 3, { kl: 0.3 }),
    ]);
    expect(run.series.ppo?.kl).toMatchObject({ steps: [1, 2, 3], values: [0.1, 0.2, 0.3] });
    expect(run.log.map((entry) => entry.seq)).toEqual([1, 6]);
  });

  test("with buckets is asked for anew when a step inside a bucket is run again, not when one is added", () => {
    const series = [{ seed: null, stage: "ppo", name: "kl", steps: [10, 20], last: [1, 2], min: [0, 1], max: [3, 4] }];
    const before = fromSnapshot({ ...snapshot, series });
    expect(reduce(before, [metrics(6, 21, { kl: 5 })]).isStale).toBe(false);
    expect(reduce(before, [metrics(6, 15, { kl: 5 })]).isStale).toBe(true);
  });
});

describe("several seeds", () => {
  const of = (seed: number, one: JobEvent): JobEvent => ({ ...one, seed });
  const run = reduce(emptyRun, [
    of(4, metrics(1, 1, { kl: 0.4 })),
    of(4, samples(2, 1, "of 4")),
    of(5, metrics(3, 1, { kl: 0.5 })),
    of(5, samples(4, 1, "of 5")),
    of(5, event(5, "health", { stage: "ppo", step: 1 })),
    event(6, "message", { text: "of the job" }),
  ]);

  test("are kept apart, each as a run of its own", () => {
    const second = ofSeed(run, 5, false);
    expect(second.series.ppo?.kl?.values).toEqual([0.5]);
    expect(second.samples["ppo/1"]?.map((row) => row.response)).toEqual(["of 5"]);
    expect(second.sampleSteps).toEqual({ ppo: [1] });
    expect(ofSeed(run, 4, true).series.ppo?.kl?.values).toEqual([0.4]);
    expect(ofSeed(run, 4, true).log.map(({ seq }) => seq)).toEqual([6]);
    expect(second.log.map(({ seq }) => seq)).toEqual([5, 6]);
  });

  test("of an older job without them are those of the first", () => {
    const old = reduce(emptyRun, [metrics(1, 1, { kl: 1 })]);
    expect(ofSeed(old, 4, true).series.ppo?.kl?.values).toEqual([1]);
    expect(ofSeed(old, 5, false).series).toEqual({});
  });
});
