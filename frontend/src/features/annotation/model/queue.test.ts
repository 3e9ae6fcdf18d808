import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ItemBatch, Item, Receipt, Submission } from "@/features/annotation/model/item";
import { Outbox } from "@/features/annotation/model/outbox";
import { Queue } from "@/features/annotation/model/queue";

const away = new Error("The server cannot be reached.");
const item = (id: string): Item => ({ id, kind: "pairs", prompt: `${id}?`, completions: ["yes", "no"] });

/** A round as the server keeps it, for one annotator. */
class Round {
  status = "open";
  online = true;
  answers = new Map<string, Submission>();
  /** In the order of answering. */
  order: string[] = [];
  asked: number[] = [];
  constructor(readonly ids: readonly string[]) {}

  next = async (limit: number): Promise<ItemBatch> => {
    await this.reach();
    this.asked.push(limit);
    const open = this.ids.filter((id) => !this.answers.has(id));
    const items = this.status === "open" ? open.slice(0, limit).map(item) : [];
    return { status: this.status, items, ...this.count() };
  };

  deliver = async (id: string, submission: Submission): Promise<Receipt> => {
    await this.reach();
    if (this.status === "closed") throw new Error("The round is closed.");
    this.order = this.order.filter((each) => each !== id);
    if (submission.type === "undo") this.answers.delete(id);
    else {
      this.answers.set(id, submission);
      this.order.push(id);
    }
    return { item: submission.type === "undo" ? item(id) : null, ...this.count() };
  };

  private reach = (): Promise<void> => (this.online ? Promise.resolve() : Promise.reject(away));
  private count = () => ({
    done: this.answers.size,
    total: this.ids.length,
    last_item: this.order.at(-1) ?? null,
  });
}

function open(round: Round) {
  const store = { load: () => [], save: () => undefined, remove: () => undefined };
  const outbox = new Outbox({ deliver: round.deliver, isPassing: (error) => error === away }, store);
  const queue = new Queue(round.next, outbox);
  queue.start();
  return { queue, outbox, shown: () => queue.getView().item?.id ?? null };
}

/** Long enough to have read it. */
const read = () => vi.advanceTimersByTimeAsync(400);
const settle = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a whole queue is answered in order, each item once", async () => {
  const round = new Round(["a", "b", "c", "d", "e"]);
  const { queue, shown } = open(round);
  await read();
  const seen = [];
  while (shown()) {
    seen.push(shown());
    queue.answer({ choice: "1" });
    await read();
  }
  expect(seen).toEqual(["a", "b", "c", "d", "e"]);
  expect(round.order).toEqual(seen);
  expect(queue.getView()).toMatchObject({ finished: true, done: 5, total: 5, status: "open" });
});

test("the next item is there in the same moment, before the server has answered", async () => {
  const { queue, shown } = open(new Round(["a", "b"]));
  await read();
  queue.answer({ choice: "2" });
  expect([shown(), queue.getView().done]).toEqual(["b", 1]);
});

test("the time that was spent goes with the answer", async () => {
  const round = new Round(["a", "b"]);
  const { queue } = open(round);
  await settle();
  await vi.advanceTimersByTimeAsync(2340);
  queue.answer({ choice: "tie" });
  await settle();
  expect(round.answers.get("a")).toEqual({ type: "answer", verdict: { choice: "tie" }, seconds: 2.3 });
});

test("undo shows the item again and takes its answer back; another answer replaces it", async () => {
  const round = new Round(["a", "b", "c"]);
  const { queue, shown } = open(round);
  await read();
  queue.answer({ choice: "1" });
  await read();
  queue.undo();
  expect([shown(), queue.getView().done]).toEqual(["a", 0]);
  await read();
  expect(round.answers.size).toBe(0);
  queue.answer({ choice: "2" });
  await settle();
  expect(round.answers.get("a")).toMatchObject({ verdict: { choice: "2" } });
  expect(shown()).toBe("b");
});

test("undo goes back as far as the visit, and then to answers of earlier ones", async () => {
  const round = new Round(["a", "b", "c"]);
  const earlier = open(round);
  await read();
  for (const choice of ["1", "2"] as const) {
    earlier.queue.answer({ choice });
    await read();
  }
  earlier.queue.stop();

  const { queue, shown } = open(round);
  await read();
  expect([shown(), queue.getView().canUndo]).toEqual(["c", true]);
  queue.undo();
  await settle();
  expect([shown(), [...round.answers.keys()]]).toEqual(["b", ["a"]]);
  queue.undo();
  await settle();
  expect([shown(), queue.getView().canUndo]).toEqual(["a", false]);
  expect(queue.getView()).toMatchObject({ done: 0, total: 3 });
});

test("while the server is away the items at hand can be answered, and nothing is lost", async () => {
  const round = new Round(["a", "b", "c", "d"]);
  const { queue, outbox, shown } = open(round);
  await read();
  round.online = false;
  for (const choice of ["1", "2", "tie"] as const) {
    queue.answer({ choice });
    await read();
  }
  expect([shown(), queue.getView().done, outbox.getView().waiting]).toEqual([null, 3, 3]);
  expect(queue.getView().error).toBe(away);
  round.online = true;
  await vi.advanceTimersByTimeAsync(20_000);
  expect(round.order).toEqual(["a", "b", "c"]);
  expect([shown(), queue.getView().error]).toEqual(["d", null]);
});

test("a paused round shows nothing, takes what is on its way, and goes on by itself", async () => {
  const round = new Round(["a", "b", "c"]);
  const { queue, shown } = open(round);
  await read();
  round.status = "paused";
  queue.answer({ choice: "1" });
  await read();
  expect([shown(), queue.getView().status, round.order]).toEqual([null, "paused", ["a"]]);
  round.status = "open";
  await vi.advanceTimersByTimeAsync(5000);
  expect(shown()).toBe("b");
});

test("a round that was closed meanwhile says so and refuses the answer aloud", async () => {
  const round = new Round(["a", "b", "c", "d", "e"]);
  const { queue, outbox, shown } = open(round);
  await read();
  round.status = "closed";
  queue.answer({ choice: "1" });
  await read();
  expect([shown(), queue.getView().status]).toEqual([null, "closed"]);
  expect(outbox.getView().refused).toEqual([{ item: "a", message: "The round is closed." }]);
  expect(queue.getView().done).toBe(0);
});

test("an item that another annotator gave back appears at the end by itself", async () => {
  const ids = ["a"];
  const { queue, shown } = open(new Round(ids));
  await read();
  queue.answer({ choice: "1" });
  await read();
  expect([shown(), queue.getView().finished]).toEqual([null, true]);
  ids.push("b");
  await vi.advanceTimersByTimeAsync(5000);
  expect(shown()).toBe("b");
});
