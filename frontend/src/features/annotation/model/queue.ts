import {
  emptyQueue,
  isSameChoice,
  type AnsweredItem,
  type Item,
  type ItemBatch,
  type QueueView,
  type Receipt,
  type Submission,
  type Verdict,
} from "@/features/annotation/model/item";
import type { Outbox } from "@/features/annotation/model/outbox";
import { Stopwatch } from "@/features/annotation/model/stopwatch";

/** Items to hold, including the one on the screen, so that the next one appears at once. */
const AT_HAND = 3;
const MOST_ASKED = 10;
const LOOK_AGAIN_MS = 5000;
/** Longest time of an answer that is reported: a day. */
const LONGEST_S = 86_400;
/** A repeated answer within this time is a bounced key, not an answer to the next item. */
const BOUNCE_S = 0.08;

/** The items that one annotator judges next. Answers go to the outbox. */
export class Queue {
  private items: Item[] = [];
  private given: AnsweredItem[] = [];
  /** Items answered on this page. They are not shown again, even if the server sends them before it has the answer. */
  private readonly answered = new Set<string>();
  /** Items whose answer the server has confirmed. */
  private readonly confirmed = new Set<string>();
  private counts = { done: 0, total: 0 };
  private lastItem: string | null = null;
  private filling = false;
  /** Whether `fill` was called during another call. */
  private again = false;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private readonly listeners = new Set<() => void>();
  private leave: (() => void) | null = null;
  private view: QueueView = emptyQueue;

  constructor(
    private readonly next: (limit: number) => Promise<ItemBatch>,
    private readonly outbox: Outbox<Receipt>,
    readonly watch: Stopwatch = new Stopwatch(),
  ) {}

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  getView = (): QueueView => this.view;

  start = (): void => {
    this.leave = this.outbox.onSettled(this.settled);
    this.outbox.retry();
    void this.fill();
  };

  stop = (): void => {
    this.leave?.();
    this.leave = null;
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
  };

  /** Requests items immediately. */
  refresh = (): void => void this.fill(true);

  answer = (verdict: Verdict): void => {
    const [item, ...rest] = this.items;
    const seconds = this.watch.seconds;
    if (!item || this.view.item !== item) return;
    if (seconds < BOUNCE_S && isSameChoice(verdict, this.given.at(-1)?.verdict)) {
      this.show({ bounced: true });
      return;
    }
    this.items = rest;
    this.given.push({ item, verdict });
    this.answered.add(item.id);
    this.outbox.put(item.id, { type: "answer", verdict, seconds: Math.min(LONGEST_S, Math.round(seconds * 10) / 10) });
    this.show({});
    void this.fill();
  };

  /** Undoes the newest answer and shows its item. */
  undo = (): void => {
    const newest = this.given.pop();
    if (newest) {
      this.putBack({ ...newest.item, previous: newest.verdict });
      this.outbox.put(newest.item.id, { type: "undo" });
      this.show({});
    } else if (this.lastItem) {
      this.outbox.put(this.lastItem, { type: "undo" });
    }
  };

  private putBack(item: Item): void {
    this.answered.delete(item.id);
    this.items = [item, ...this.items.filter((each) => each.id !== item.id)];
  }

  private readonly settled = (id: string, submission: Submission, receipt: Receipt | null): void => {
    if (receipt) {
      this.counts = { done: receipt.done, total: receipt.total };
      if (submission.type === "answer") this.confirmed.add(id);
      else this.confirmed.delete(id);
    }
    const before = submission.type === "undo" && id === this.lastItem;
    if (before && receipt) {
      this.lastItem = receipt.last_item ?? null;
      if (receipt.item) this.putBack(receipt.item);
    }
    // A refused answer is not stored, so the server may send the item again.
    if (!receipt && submission.type === "answer") {
      this.answered.delete(id);
      this.given = this.given.filter(({ item }) => item.id !== id);
    }
    this.show({});
    void this.fill(!receipt);
  };

  /** Requests items if few are left. The response repeats the items that are held here or whose answers are being sent. */
  private async fill(always = false): Promise<void> {
    const limit = AT_HAND + this.outbox.pending().size;
    const enough = this.items.length >= AT_HAND && this.view.status === "open";
    if (!this.leave || limit > MOST_ASKED || (enough && !always)) return;
    this.again = this.filling;
    if (this.filling) return;
    this.filling = true;
    try {
      this.take(await this.next(limit), limit);
    } catch (error) {
      this.show({ error: error instanceof Error ? error : new Error(String(error)) });
    } finally {
      this.filling = false;
    }
    if (this.again) void this.fill();
    this.lookAgain();
  }

  private take(batch: ItemBatch, limit: number): void {
    const first = this.view.status === null;
    const atHand = new Set(this.items.map((item) => item.id));
    const pending = this.outbox.pending();
    const fresh = batch.items.filter(
      ({ id }) => !atHand.has(id) && !this.answered.has(id) && pending.get(id)?.type !== "answer",
    );
    this.items.push(...fresh);
    if (first) this.lastItem = batch.last_item;
    if (!pending.size) this.counts = { done: batch.done, total: batch.total };
    this.show({ status: batch.status, finished: batch.items.length < limit, error: null });
  }

  /** Items may appear later: the round is opened again, or another annotator's reservation ends. */
  private lookAgain(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    if (!this.leave || this.view.item || this.view.status === "closed") return;
    this.timer = setTimeout(this.refresh, LOOK_AGAIN_MS);
  }

  /** Number of answered items, including answers that are being sent. */
  private done(): number {
    let done = this.counts.done;
    for (const [id, submission] of this.outbox.pending()) {
      if (submission.type === "answer" && !this.confirmed.has(id)) done++;
      if (submission.type === "undo" && this.confirmed.has(id)) done--;
    }
    return done;
  }

  private show(change: Partial<QueueView>): void {
    const status = change.status ?? this.view.status;
    const item = status === "open" ? (this.items[0] ?? null) : null;
    const isNew = item !== this.view.item;
    if (isNew) this.watch.restart();
    this.view = {
      ...this.view,
      ...change,
      item,
      showing: this.view.showing + Number(isNew),
      last: this.given.at(-1) ?? null,
      bounced: change.bounced ?? (!isNew && this.view.bounced),
      canUndo: this.given.length > 0 || this.lastItem !== null,
      done: this.done(),
      total: this.counts.total,
    };
    this.listeners.forEach((listener) => listener());
  }
}
