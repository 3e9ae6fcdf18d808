import type { Item, Verdict } from "@/features/annotation/model/wish";

/** What the server hands out: first what this annotator was handed before and has not answered. */
export interface Hand {
  readonly status: string;
  readonly items: readonly Item[];
  readonly done: number;
  readonly total: number;
  /** What this annotator answered last. */
  readonly last_item: string | null;
}

/** What the server says to an answer, or to one taken back. */
export interface Receipt {
  readonly done: number;
  readonly total: number;
  /** After taking an answer back: what it was about, and what was answered before it. */
  readonly item?: Item | null | undefined;
  readonly last_item?: string | null | undefined;
}

export interface Given {
  readonly item: Item;
  readonly verdict: Verdict;
}

export interface QueueView {
  /** Of the round; null before the server has said it. */
  readonly status: string | null;
  readonly item: Item | null;
  /** Tells one showing from the next, also of the same item. */
  readonly showing: number;
  /** The newest answer of this visit. */
  readonly last: Given | null;
  /** The same key came again as the item appeared, too soon to be meant for it: nothing was answered. */
  readonly bounced: boolean;
  readonly canUndo: boolean;
  readonly done: number;
  readonly total: number;
  /** Nothing is left for this annotator, as far as the server knows. */
  readonly finished: boolean;
  readonly error: Error | null;
}
