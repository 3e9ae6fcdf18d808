import type { Submission } from "@/features/annotation/model/item";

/** Stores submissions until the server has them, also after the page is closed. */
export interface SubmissionStore {
  load: () => [item: string, submission: Submission][];
  save: (item: string, submission: Submission) => void;
  remove: (item: string) => void;
}

interface Transport<Receipt> {
  /** Sends a submission. A repeated call has no further effect. */
  deliver: (item: string, submission: Submission) => Promise<Receipt>;
  /** Whether a later try may succeed: the server did not respond, or failed. */
  isPassing: (error: unknown) => boolean;
}

interface Refusal {
  readonly item: string;
  readonly message: string;
}

export interface OutboxView {
  readonly waiting: number;
  /** Why submissions cannot be sent; null if they can. */
  readonly trouble: string | null;
  /** Answers that the server refused. */
  readonly refused: readonly Refusal[];
}

const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 15_000;

/**
 * Sends the latest submission of each item, one at a time, until the server has it. A submission holds a final state, so
 * sending it twice has the same effect as once.
 */
export class Outbox<Receipt> {
  private readonly submissions: Map<string, Submission>;
  private view: OutboxView;
  private readonly listeners = new Set<() => void>();
  private readonly readers = new Set<(item: string, submission: Submission, receipt: Receipt | null) => void>();
  private sending = false;
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(
    private readonly transport: Transport<Receipt>,
    private readonly store: SubmissionStore,
  ) {
    this.submissions = new Map(store.load());
    this.view = { waiting: this.submissions.size, trouble: null, refused: [] };
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Calls `reader` for each submission with the server's receipt, or with null if the server refused it. */
  onSettled = (reader: (item: string, submission: Submission, receipt: Receipt | null) => void): (() => void) => {
    this.readers.add(reader);
    return () => this.readers.delete(reader);
  };

  getView = (): OutboxView => this.view;

  pending = (): ReadonlyMap<string, Submission> => this.submissions;

  put(item: string, submission: Submission): void {
    this.submissions.delete(item);
    this.submissions.set(item, submission);
    this.store.save(item, submission);
    this.show({});
    if (!this.timer) void this.send();
  }

  /** Sends immediately instead of at the next try. */
  retry = (): void => {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    void this.send();
  };

  /** Forgets refused answers that the user has read. Until then the store keeps them for the next page. */
  dismiss = (): void => {
    for (const { item } of this.view.refused) if (!this.submissions.has(item)) this.store.remove(item);
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

  private first(): [string, Submission] | undefined {
    return this.submissions.entries().next().value;
  }

  /** Returns whether to continue with the next submission. */
  private async deliver(item: string, submission: Submission): Promise<boolean> {
    let receipt: Receipt | null = null;
    let refusal: string | undefined;
    try {
      receipt = await this.transport.deliver(item, submission);
    } catch (error) {
      refusal = error instanceof Error ? error.message : String(error);
      if (this.transport.isPassing(error)) {
        this.later(refusal);
        return false;
      }
    }
    this.settle(item, submission, receipt, refusal);
    return true;
  }

  private settle(item: string, submission: Submission, receipt: Receipt | null, refusal?: string): void {
    // A newer submission may have replaced this one while it was being sent.
    if (this.submissions.get(item) === submission) {
      this.submissions.delete(item);
      if (refusal === undefined) this.store.remove(item);
    }
    this.failures = 0;
    const others = this.view.refused.filter((one) => one.item !== item);
    const refused = refusal === undefined ? others : [...others, { item, message: refusal }];
    this.readers.forEach((reader) => reader(item, submission, receipt));
    this.show({ trouble: null, refused });
  }

  private later(trouble: string): void {
    const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** this.failures++);
    this.timer = setTimeout(this.retry, delay);
    this.show({ trouble });
  }

  private show(change: Partial<OutboxView>): void {
    this.view = { ...this.view, ...change, waiting: this.submissions.size };
    this.listeners.forEach((listener) => listener());
  }
}
