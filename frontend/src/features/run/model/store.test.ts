import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type RunServer, RunStore } from "@/features/run/model/store";
import type { JobEvent } from "@/lib/api/types";
import type { Follower } from "@/lib/live/client";

interface Stream extends Follower {
  readonly after: number;
  open: boolean;
}

const point = (seq: number, step: number): JobEvent[] => [
  {
    seq,
    type: "metrics",
    seed: null,
    stage: "ppo",
    step,
    data: { stage: "ppo", step, values: { kl: step / 10 } },
  } as unknown as JobEvent,
];

const points = {
  lastSeq: 2,
  log: [],
  sampleSteps: {},
  lastEventAt: "2026-01-01T00:00:00Z",
  series: [{ seed: null, stage: "ppo", name: "kl", steps: [1, 2], values: [0.1, 0.2] }],
};
const fresh = () => structuredClone(points);
const buckets = {
  ...points,
  series: [{ seed: null, stage: "ppo", name: "kl", steps: [2], last: [0.2], min: [0.1], max: [0.2] }],
};

const FRAME_MS = 16;

function setUp(snapshot: RunServer["snapshot"]) {
  const streams: Stream[] = [];
  const store = new RunStore({
    snapshot,
    follow: (after, follower) => {
      const stream = { ...follower, after, open: true };
      streams.push(stream);
      return () => (stream.open = false);
    },
    onEvents: () => undefined,
    schedule: (act) => {
      const timer = setTimeout(act, FRAME_MS);
      return () => clearTimeout(timer);
    },
  });
  const steps = () => store.getView().run.series.ppo?.kl?.steps;
  return { store, streams, steps };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("follows from exactly where the snapshot ends", async () => {
  const { store, streams, steps } = setUp(() => Promise.resolve(fresh()));
  store.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(streams.map((stream) => stream.after)).toEqual([2]);
  streams[0]?.onEvents(point(3, 3));
  await vi.advanceTimersByTimeAsync(FRAME_MS);
  expect(steps()).toEqual([1, 2, 3]);
});

test("many events within a frame redraw once", async () => {
  const { store, streams } = setUp(() => Promise.resolve(fresh()));
  store.start();
  await vi.advanceTimersByTimeAsync(0);
  const redraw = vi.fn();
  store.subscribe(redraw);
  for (let step = 3; step < 100; step++) streams[0]?.onEvents(point(step, step));
  await vi.advanceTimersByTimeAsync(FRAME_MS);
  expect(redraw).toHaveBeenCalledOnce();
});

test("a server that is away is asked again", async () => {
  const snapshot = vi.fn<RunServer["snapshot"]>().mockRejectedValueOnce(new Error("away")).mockResolvedValue(fresh());
  const { store, steps } = setUp(snapshot);
  store.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(store.getView()).toMatchObject({ loaded: false, error: new Error("away") });
  await vi.advanceTimersByTimeAsync(3000);
  expect(steps()).toEqual([1, 2]);
});

test("a step re-run inside a bucket fetches the buckets anew and follows once", async () => {
  const snapshot = vi
    .fn<RunServer["snapshot"]>()
    .mockResolvedValueOnce(structuredClone(buckets))
    .mockResolvedValue({ ...fresh(), lastSeq: 3 });
  const { store, streams, steps } = setUp(snapshot);
  store.start();
  await vi.advanceTimersByTimeAsync(0);
  streams[0]?.onEvents(point(3, 1));
  await vi.advanceTimersByTimeAsync(FRAME_MS);
  expect([steps(), streams.map((stream) => stream.open)]).toEqual([
    [1, 2],
    [false, true],
  ]);
});

test("a snapshot that comes after the page was left follows nothing", async () => {
  const { store, streams } = setUp(() => Promise.resolve(fresh()));
  store.start();
  store.stop();
  await vi.advanceTimersByTimeAsync(0);
  expect(streams).toEqual([]);
});

test("the last events are shown before the end, and a job that starts again is followed again", async () => {
  const { store, streams, steps } = setUp(() => Promise.resolve(fresh()));
  store.start();
  await vi.advanceTimersByTimeAsync(0);
  streams[0]?.onEvents(point(3, 3));
  streams[0]?.onDone();
  expect([store.getView().ended, steps()]).toEqual([true, [1, 2, 3]]);
  store.reopen();
  expect([store.getView().ended, streams.map((stream) => stream.after)]).toEqual([false, [2, 3]]);
});
