import { putAnswer, undoAnswer } from "@/api/annotation";
import { ApiError } from "@/api/problem";
import { noticeSignOut } from "@/api/query-client";
import { keptWishes, whoseWishesWait } from "@/lib/annotation/kept-wishes";
import { Outbox } from "@/lib/annotation/outbox";
import type { Receipt } from "@/lib/annotation/hand";
import type { Wish } from "@/lib/annotation/wish";
import { toItem } from "@/features/annotation/queue/to-item";

/** One for each round and annotator. They live as long as the tab, so that leaving the page stops no answer. */
const outboxes = new Map<string, Outbox<Receipt>>();

/** Answered with one of these, the same answer may be taken later. */
const PASSING = new Set([0, 401, 408, 425, 429]);

export function outboxOf(round: string, annotator: string): Outbox<Receipt> {
  const key = `${round} ${annotator}`;
  const known = outboxes.get(key);
  if (known) return known;
  const deliver = (item: string, wish: Wish) => tell(round, annotator, item, wish);
  const outbox = new Outbox<Receipt>({ deliver, isPassing }, keptWishes(storage(), round, annotator));
  outboxes.set(key, outbox);
  return outbox;
}

/** Answers that a closed page left behind are sent by the next one that is opened. */
export function sendLeftovers(): void {
  for (const { round, annotator } of whoseWishesWait(storage())) outboxOf(round, annotator).retry();
}

async function tell(round: string, annotator: string, item: string, wish: Wish): Promise<Receipt> {
  try {
    if (wish.type === "answer") {
      const { verdict, seconds } = wish;
      const said = "ranks" in verdict ? { ranks: [...verdict.ranks] } : verdict;
      const { done, total } = await putAnswer(round, item, { annotator, ...said, seconds });
      return { done, total };
    }
    const receipt = await undoAnswer(round, annotator, item);
    return { ...receipt, item: receipt.item && toItem(receipt.item) };
  } catch (error) {
    noticeSignOut(error);
    throw error;
  }
}

/** Not an ApiError: the answer took too long. */
const isPassing = (error: unknown): boolean =>
  !(error instanceof ApiError) || PASSING.has(error.status) || error.status >= 500;

function storage(): Storage | null {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}
