import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Choice, Wish } from "@/features/annotation/model/item";
import { Outbox, type WishStore } from "@/features/annotation/model/outbox";

const away = new Error("The server cannot be reached.");
const closed = new Error("The round is closed.");
const answer = (choice: Choice): Wish => ({ type: "answer", verdict: { choice }, seconds: 2 });
const undo: Wish = { type: "undo" };

function memory(...kept: [string, Wish][]): WishStore & { kept: Map<string, Wish> } {
  const map = new Map(kept);
  return {
    kept: map,
    load: () => [...map],
    save: (item, wish) => void map.set(item, wish),
    remove: (item) => void map.delete(item),
  };
}

/** A server that holds the latest wish for each item, and fails where told. */
function setUp(store = memory()) {
  const server = new Map<string, Wish>();
  const deliver = vi.fn((item: string, wish: Wish) => {
    server.set(item, wish);
    return Promise.resolve("ok");
  });
  const outbox = new Outbox({ deliver, isPassing: (error) => error === away }, store);
  return { outbox, deliver, server, store };
}

const settle = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("an answer is kept until the server has it", async () => {
  const { outbox, server, store } = setUp();
  outbox.put("one", answer("1"));
  expect(store.kept.size).toBe(1);
  await settle();
  expect(server.get("one")).toEqual(answer("1"));
  expect(store.kept.size).toBe(0);
  expect(outbox.getView()).toEqual({ waiting: 0, trouble: null, refused: [] });
});

test("while the network is away, answers wait, and then all arrive once, in order", async () => {
  const { outbox, deliver } = setUp();
  deliver.mockRejectedValueOnce(away).mockRejectedValueOnce(away);
  outbox.put("one", answer("1"));
  await settle();
  outbox.put("two", answer("2"));
  expect(outbox.getView()).toMatchObject({ waiting: 2, trouble: away.message });
  await vi.advanceTimersByTimeAsync(1000);
  expect(outbox.getView().waiting).toBe(2);
  await vi.advanceTimersByTimeAsync(2000);
  expect(outbox.getView()).toMatchObject({ waiting: 0, trouble: null });
  expect(deliver.mock.calls.map(([item]) => item)).toEqual(["one", "one", "one", "two"]);
});

test("what a closed page left behind is sent by the next one", async () => {
  const { outbox, server } = setUp(memory(["one", answer("tie")]));
  expect(outbox.getView().waiting).toBe(1);
  outbox.retry();
  await settle();
  expect(server.get("one")).toEqual(answer("tie"));
});

test("a wish that changes while the first is on its way is sent behind it", async () => {
  const { outbox, server, store } = setUp();
  outbox.put("one", answer("1"));
  outbox.put("one", undo);
  await settle();
  expect(server.get("one")).toEqual(undo);
  expect(store.kept.size).toBe(0);
});

test("a refusal is told and does not hold up the others", async () => {
  const { outbox, deliver, server } = setUp();
  const settled = vi.fn();
  outbox.onSettled(settled);
  deliver.mockRejectedValueOnce(closed);
  outbox.put("one", answer("1"));
  outbox.put("two", answer("2"));
  await settle();
  expect([...server.keys()]).toEqual(["two"]);
  expect(outbox.getView()).toMatchObject({ waiting: 0, refused: [{ item: "one", message: closed.message }] });
  expect(settled.mock.calls).toEqual([
    ["one", answer("1"), null],
    ["two", answer("2"), "ok"],
  ]);
});

test("what was refused is kept until somebody has read it, also by a page that is opened later", async () => {
  const { outbox, deliver, store } = setUp();
  deliver.mockRejectedValueOnce(closed);
  outbox.put("one", answer("1"));
  await settle();
  expect(store.kept.get("one")).toEqual(answer("1"));

  const later = setUp(store);
  later.deliver.mockRejectedValueOnce(closed);
  later.outbox.retry();
  await settle();
  expect(later.outbox.getView()).toMatchObject({ waiting: 0, refused: [{ item: "one", message: closed.message }] });
  later.outbox.dismiss();
  expect([later.outbox.getView().refused, store.kept.size]).toEqual([[], 0]);
});

test("reading of a refusal does not lose another answer to the same item that is on its way", async () => {
  const { outbox, deliver, store } = setUp();
  deliver.mockRejectedValueOnce(closed).mockRejectedValueOnce(away);
  outbox.put("one", answer("1"));
  await settle();
  outbox.put("one", answer("2"));
  await settle();
  outbox.dismiss();
  expect(store.kept.get("one")).toEqual(answer("2"));
  await vi.advanceTimersByTimeAsync(1000);
  expect(outbox.getView()).toEqual({ waiting: 0, trouble: null, refused: [] });
});

test("the wait between tries grows to fifteen seconds and no further", async () => {
  const { outbox, deliver } = setUp();
  deliver.mockRejectedValue(away);
  outbox.put("one", answer("1"));
  await vi.advanceTimersByTimeAsync(1000 + 2000 + 4000 + 8000 + 15_000 + 15_000);
  expect(deliver).toHaveBeenCalledTimes(7);
});

test("a try can be asked for at once", async () => {
  const { outbox, deliver } = setUp();
  deliver.mockRejectedValueOnce(away);
  outbox.put("one", answer("1"));
  await settle();
  outbox.retry();
  await settle();
  expect(outbox.getView().waiting).toBe(0);
});
