import type { Wish } from "@/features/annotation/model/item";

/** Keeps wishes beyond the page's life. */
export interface WishStore {
  load: () => [item: string, wish: Wish][];
  save: (item: string, wish: Wish) => void;
  remove: (item: string) => void;
}

interface Courier<Receipt> {
  /** Tells the server. Repeating it changes nothing there. */
  deliver: (item: string, wish: Wish) => Promise<Receipt>;
  /** Whether the same may be accepted later: there was no answer, or the server is in trouble. */
  isPassing: (error: unknown) => boolean;
}

interface Refusal {
  readonly item: string;
  readonly message: string;
}

export interface OutboxView {
  readonly waiting: number;
  /** Why nothing gets through, while nothing does. */
  readonly trouble: string | null;
  /** Answers that the server refuses for good. */
  readonly refused: readonly Refusal[];
}

const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 15_000;

/**
 * Sends the latest wish of each item, one at a time, until the server has it. A wish holds a final state, so sending it
 * twice has the same effect as once.
 */
export class Outbox<Receipt> {
  private readonly wishes: Map<string, Wish>;
  private view: OutboxView;
  private readonly listeners = new Set<() => void>();
  private readonly readers = new Set<(item: string, wish: Wish, receipt: Receipt | null) => void>();
  private sending = false;
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(
    private readonly courier: Courier<Receipt>,
    private readonly store: WishStore,
  ) {
    this.wishes = new Map(store.load());
    this.view = { waiting: this.wishes.size, trouble: null, refused: [] };
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Tells what became of each wish: the server's receipt, or null for one that it refused. */
  onSettled = (reader: (item: string, wish: Wish, receipt: Receipt | null) => void): (() => void) => {
    this.readers.add(reader);
    return () => this.readers.delete(reader);
  };

  getView = (): OutboxView => this.view;

  pending = (): ReadonlyMap<string, Wish> => this.wishes;

  put(item: string, wish: Wish): void {
    this.wishes.delete(item);
    this.wishes.set(item, wish);
    this.store.save(item, wish);
    this.show({});
    if (!this.timer) void this.send();
  }

  /** Tries at once instead of waiting for the next try. */
  retry = (): void => {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    void this.send();
  };

  /** Forgets refused answers that the user has read. Until then the store keeps them for the next page. */
  dismiss = (): void => {
    for (const { item } of this.view.refused) if (!this.wishes.has(item)) this.store.remove(item);
    this.show({ refused: [] });
  };

  private async send(): Promise<void> {
    if (this.sending) return;
    this.sending = true;
    try {
      for (let next = this.first(); next; next = this.first()) {
        if (!(await this.deliver(...next))) break;
      }
    } finally {
      this.sending = false;
    }
  }

  private first(): [string, Wish] | undefined {
    return this.wishes.entries().next().value;
  }

  /** Whether to go on with the next one. */
  private async deliver(item: string, wish: Wish): Promise<boolean> {
    let receipt: Receipt | null = null;
    let refusal: string | undefined;
    try {
      receipt = await this.courier.deliver(item, wish);
    } catch (error) {
      refusal = error instanceof Error ? error.message : String(error);
      if (this.courier.isPassing(error)) {
        this.later(refusal);
        return false;
      }
    }
    this.settle(item, wish, receipt, refusal);
    return true;
  }

  private settle(item: string, wish: Wish, receipt: Receipt | null, refusal?: string): void {
    // While it was on its way, another wish may have taken its place.
    if (this.wishes.get(item) === wish) {
      this.wishes.delete(item);
      if (refusal === undefined) this.store.remove(item);
    }
    this.failures = 0;
    const others = this.view.refused.filter((one) => one.item !== item);
    const refused = refusal === undefined ? others : [...others, { item, message: refusal }];
    this.readers.forEach((reader) => reader(item, wish, receipt));
    this.show({ trouble: null, refused });
  }

  private later(trouble: string): void {
    const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** this.failures++);
    this.timer = setTimeout(this.retry, delay);
    this.show({ trouble });
  }

  private show(change: Partial<OutboxView>): void {
    this.view = { ...this.view, ...change, waiting: this.wishes.size };
    this.listeners.forEach((listener) => listener());
  }
}
