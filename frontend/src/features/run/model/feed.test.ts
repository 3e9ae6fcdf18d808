import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Connection, EventFeed, type Recovery, type Source } from "@/features/run/model/feed";
import type { EventOf } from "@/lib/api/types";

const metrics = (seq: number) => ({ seq, type: "metrics", data: {} }) as EventOf<"metrics">;

class FakeSource implements Source {
  readyState = 0;
  onopen: ((event: Event) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  private readonly listeners = new Map<string, (event: MessageEvent<string>) => void>();

  constructor(readonly after: number) {}

  addEventListener(type: string, listener: (event: MessageEvent<string>) => void): void {
    this.listeners.set(type, listener);
  }
  close(): void {
    this.readyState = 2;
  }
  open(): void {
    this.readyState = 1;
    this.onopen?.(new Event("open"));
  }
  send(seq: number): void {
    this.listeners.get("metrics")?.(new MessageEvent("metrics", { data: JSON.stringify(metrics(seq)) }));
  }
  finish(): void {
    this.listeners.get("done")?.(new MessageEvent("done", { data: "" }));
  }
  fail(readyState: number): void {
    this.readyState = readyState;
    this.onerror?.(new Event("error"));
  }
}

function setUp(recover: (seq: number) => Promise<Recovery> = () => Promise.resolve({ events: [], ended: false })) {
  const sources: FakeSource[] = [];
  const seen: number[] = [];
  const states: Connection[] = [];
  const feed = new EventFeed(7, {
    open: (seq) => {
      const source = new FakeSource(seq);
      sources.push(source);
      return source;
    },
    types: ["metrics"],
    onEvent: (event) => seen.push(event.seq),
    onConnection: (state) => states.push(state),
    recover,
  });
  feed.start();
  const latest = () => sources[sources.length - 1] as FakeSource;
  return { feed, sources, seen, states, latest };
}

describe("EventFeed", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("starts after the snapshot and drops repeats", () => {
    const { latest, seen, states } = setUp();
    latest().open();
    [7, 8, 8, 9].forEach((seq) => latest().send(seq));
    expect([latest().after, seen, states]).toEqual([7, [8, 9], ["live"]]);
  });

  test("leaves a dropped connection to the browser, and shows it only when it lasts", () => {
    const { latest, sources, states } = setUp();
    latest().open();
    latest().fail(0);
    vi.advanceTimersByTime(1000);
    expect(states).toEqual(["live"]);
    vi.advanceTimersByTime(2000);
    expect([states, sources.length]).toEqual([["live", "reconnecting"], 1]);
  });

  test("after a refusal opens a new stream from the last event seen", async () => {
    const { latest, sources } = setUp();
    latest().open();
    latest().send(12);
    latest().fail(2);
    await vi.advanceTimersByTimeAsync(1000);
    expect(sources.map((source) => source.after)).toEqual([7, 12]);
  });

  test("backs off while the server is away, and comes back", async () => {
    let answer: Recovery | null = null;
    const recover = vi.fn(() => (answer ? Promise.resolve(answer) : Promise.reject(new Error("502"))));
    const { latest, sources, seen } = setUp(recover);
    latest().fail(2);
    await vi.advanceTimersByTimeAsync(1000 + 2000 + 4000);
    expect([recover.mock.calls.length, sources.length]).toEqual([3, 1]);
    answer = { events: [metrics(8)], ended: false };
    await vi.advanceTimersByTimeAsync(8000);
    expect([seen, latest().after]).toEqual([[8], 8]);
  });

  test("a run that ended while the server was away ends with its last events", async () => {
    const { latest, seen, states, sources } = setUp(() => Promise.resolve({ events: [metrics(8)], ended: true }));
    latest().fail(2);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([seen, states, sources.length]).toEqual([[8], ["ended"], 1]);
  });

  test("`done` closes for good", async () => {
    const { latest, states, sources } = setUp();
    latest().open();
    latest().finish();
    latest().fail(2);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([states, sources.length, latest().readyState]).toEqual([["live", "ended"], 1, 2]);
  });

  test("a resting feed holds no connection, and continues after the last event it received", async () => {
    const { feed, latest, sources, seen } = setUp();
    latest().open();
    latest().send(8);
    feed.rest();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(sources.filter((source) => source.readyState !== 2)).toEqual([]);
    feed.reopen();
    latest().send(9);
    expect([latest().after, seen]).toEqual([8, [8, 9]]);
  });

  test("waking up during a retry leaves one stream, not two", async () => {
    const { feed, latest, sources } = setUp(
      () => new Promise((resolve) => setTimeout(resolve, 500, { events: [], ended: false })),
    );
    latest().fail(2);
    await vi.advanceTimersByTimeAsync(1200);
    feed.reopen();
    await vi.advanceTimersByTimeAsync(5000);
    expect(sources.filter((source) => source.readyState !== 2)).toHaveLength(1);
  });
});
