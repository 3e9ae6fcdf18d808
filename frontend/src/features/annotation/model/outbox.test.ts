import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Choice, Submission } from "@/features/annotation/model/item";
import { Outbox, type SubmissionStore } from "@/features/annotation/model/outbox";

const away = new Error("The server cannot be reached.");
const closed = new Error("The round is closed.");
const answer = (choice: Choice): Submission => ({ type: "answer", verdict: { choice }, seconds: 2 });
const undo: Submission = { type: "undo" };

function memory(...kept: [string, Submission][]): SubmissionStore & { kept: Map<string, Submission> } {
  const map = new Map(kept);
  return {
    kept: map,
    load: () => [...map],
    save: (item, submission) => void map.set(item, submission),
    remove: (item) => void map.delete(item),
  };
}

/** A server that holds the latest submission for each item. */
function setUp(store = memory()) {
  const server = new Map<string, Submission>();
  const deliver = vi.fn((item: string, submission: Submission) => {
    server.set(item, submission);
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

test("answers wait while the network is away, then arrive once and in order", async () => {
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

test("the next page sends the answers of a closed page", async () => {
  const { outbox, server } = setUp(memory(["one", answer("tie")]));
  expect(outbox.getView().waiting).toBe(1);
  outbox.retry();
  await settle();
  expect(server.get("one")).toEqual(answer("tie"));
});

test("a change during a delivery is sent after it", async () => {
  const { outbox, server, store } = setUp();
  outbox.put("one", answer("1"));
  outbox.put("one", undo);
  await settle();
  expect(server.get("one")).toEqual(undo);
  expect(store.kept.size).toBe(0);
});

test("a refusal is reported and does not delay the others", async () => {
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

test("a refused answer is kept until it is dismissed, also on a page that is opened later", async () => {
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

test("dismissing a refusal keeps a newer answer to the same item", async () => {
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

test("retry sends immediately", async () => {
  const { outbox, deliver } = setUp();
  deliver.mockRejectedValueOnce(away);
  outbox.put("one", answer("1"));
  await settle();
  outbox.retry();
  await settle();
  expect(outbox.getView().waiting).toBe(0);
});
