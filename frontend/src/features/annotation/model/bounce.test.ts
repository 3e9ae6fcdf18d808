import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ItemBatch, Receipt } from "@/features/annotation/model/item";
import { Outbox } from "@/features/annotation/model/outbox";
import { Queue } from "@/features/annotation/model/queue";

/** Three items are on the screen one after the other; the server takes every answer. */
async function open() {
  const items = ["a", "b", "c"].map((id) => ({ id, kind: "pairs" as const, prompt: "?", completions: ["yes", "no"] }));
  const counts = { done: 0, total: 3, last_item: null };
  const next = (): Promise<ItemBatch> => Promise.resolve({ status: "open", items, ...counts });
  const transport = { deliver: (): Promise<Receipt> => Promise.resolve(counts), isPassing: () => false };
  const queue = new Queue(next, new Outbox(transport, { load: () => [], save: () => {}, remove: () => {} }));
  queue.start();
  await vi.advanceTimersByTimeAsync(0);
  return { queue, shown: () => queue.getView().item?.id, bounced: () => queue.getView().bounced };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("the first item can be answered as soon as it is there", async () => {
  const { queue, shown } = await open();
  queue.answer({ choice: "1" });
  expect(shown()).toBe("b");
});

test("a key that bounced does not answer the next item unread, and it is said", async () => {
  const { queue, shown, bounced } = await open();
  queue.answer({ choice: "1" });
  queue.answer({ choice: "1" });
  expect([shown(), bounced()]).toEqual(["b", true]);
});

test("the same key a moment later is meant", async () => {
  const { queue, shown, bounced } = await open();
  queue.answer({ choice: "1" });
  queue.answer({ choice: "1" });
  await vi.advanceTimersByTimeAsync(100);
  queue.answer({ choice: "1" });
  expect([shown(), bounced()]).toEqual(["c", false]);
});

test("another key is meant, however soon it comes", async () => {
  const { queue, shown } = await open();
  queue.answer({ choice: "1" });
  queue.answer({ choice: "2" });
  expect([shown(), queue.getView().last?.verdict]).toEqual(["c", { choice: "2" }]);
});
