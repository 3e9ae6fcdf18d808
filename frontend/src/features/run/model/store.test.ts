import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Source } from "@/features/run/model/feed";
import { type RunServer, RunStore } from "@/features/run/model/store";

class Stream implements Source {
  readyState = 1;
  onopen = null;
  onerror = null;
  listeners = new Map<string, (event: MessageEvent<string>) => void>();
  constructor(readonly after: number) {}
  addEventListener(type: string, listener: (event: MessageEvent<string>) => void): void {
    this.listeners.set(type, listener);
  }
  close(): void {
    this.readyState = 2;
  }
  point(seq: number, step: number): void {
    const data = { stage: "ppo", step, values: { kl: step / 10 } };
    const text = JSON.stringify({ seq, type: "metrics", created_at: "", attempt: 1, stage: "ppo", step, data });
    this.listeners.get("metrics")?.(new MessageEvent("metrics", { data: text }));
  }
}

const points = {
  lastSeq: 2,
  log: [],
  sampleSteps: {},
  series: [{ stage: "ppo", name: "kl", steps: [1, 2], values: [0.1, 0.2] }],
};
const buckets = { ...points, series: [{ stage: "ppo", name: "kl", steps: [2], last: [0.2], min: [0.1], max: [0.2] }] };

function setUp(snapshot: RunServer["snapshot"]) {
  const streams: Stream[] = [];
  const store = new RunStore({
    snapshot,
    open: (seq) => streams[streams.push(new Stream(seq)) - 1] as Stream,
    recover: () => Promise.resolve({ events: [], ended: false }),
    onEvents: () => undefined,
    types: ["metrics"],
  });
  const steps = () => store.getView().run.series.ppo?.kl?.steps;
  return { store, streams, steps };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("streams from exactly where the snapshot ends", async () => {
  const { store, streams, steps } = setUp(() => Promise.resolve(points));
  store.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(streams.map((stream) => stream.after)).toEqual([2]);
  streams[0]?.point(3, 3);
  await vi.advanceTimersByTimeAsync(250);
  expect(steps()).toEqual([1, 2, 3]);
});

test("many events in a moment redraw once", async () => {
  const { store, streams } = setUp(() => Promise.resolve(points));
  store.start();
  await vi.advanceTimersByTimeAsync(0);
  const redraw = vi.fn();
  store.subscribe(redraw);
  for (let step = 3; step < 100; step++) streams[0]?.point(step, step);
  await vi.advanceTimersByTimeAsync(250);
  expect(redraw).toHaveBeenCalledOnce();
});

test("a server that is away is asked again", async () => {
  const snapshot = vi.fn<RunServer["snapshot"]>().mockRejectedValueOnce(new Error("away")).mockResolvedValue(points);
  const { store, steps } = setUp(snapshot);
  store.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(store.getView()).toMatchObject({ loaded: false, connection: "reconnecting" });
  await vi.advanceTimersByTimeAsync(3000);
  expect(steps()).toEqual([1, 2]);
});

test("a step re-run inside a bucket fetches the buckets anew and leaves one stream open", async () => {
  const snapshot = vi
    .fn<RunServer["snapshot"]>()
    .mockResolvedValueOnce(buckets)
    .mockResolvedValue({ ...points, lastSeq: 3 });
  const { store, streams, steps } = setUp(snapshot);
  store.start();
  await vi.advanceTimersByTimeAsync(0);
  streams[0]?.point(3, 1);
  await vi.advanceTimersByTimeAsync(250);
  expect([steps(), streams.map((stream) => stream.readyState)]).toEqual([
    [1, 2],
    [2, 1],
  ]);
});

test("an answer that comes after the page was left opens nothing", async () => {
  const { store, streams } = setUp(() => Promise.resolve(points));
  store.start();
  store.stop();
  await vi.advanceTimersByTimeAsync(0);
  expect(streams).toEqual([]);
});
