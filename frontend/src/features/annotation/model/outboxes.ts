import { putAnswer, undoAnswer } from "@/features/annotation/api";
import { type Receipt, toItem, type Wish } from "@/features/annotation/model/item";
import { keptWishes, whoseWishesWait } from "@/features/annotation/model/kept-wishes";
import { Outbox } from "@/features/annotation/model/outbox";
import { sessionQuery } from "@/features/auth/api";
import { ApiError, noticeSignOut, queryClient } from "@/lib/api/client";

/** Answers of one annotator to a round that are being sent. */
export interface Post {
  readonly round: string;
  readonly annotator: string;
  readonly outbox: Outbox<Receipt>;
}

/** By key, round and annotator. They live as long as the tab, so that leaving the page stops no answer. */
const known = new Map<string, Post>();

/** Answered with one of these, the same answer may be taken later. */
const PASSING = new Set([0, 401, 408, 425, 429]);

export function outboxOf(round: string, annotator: string): Outbox<Receipt> {
  const key = `${owner()} ${round} ${annotator}`;
  const there = known.get(key);
  if (there) return there.outbox;
  const deliver = (item: string, wish: Wish) => tell(round, annotator, item, wish);
  const outbox = new Outbox<Receipt>({ deliver, isPassing }, keptWishes(storage(), owner(), round, annotator));
  known.set(key, { round, annotator, outbox });
  return outbox;
}

/** All that may be on its way, or was refused and not read: also of pages that are closed. */
export function posts(): readonly Post[] {
  for (const { round, annotator } of whoseWishesWait(storage(), owner())) outboxOf(round, annotator);
  return [...known].filter(([key]) => key.startsWith(`${owner()} `)).map(([, post]) => post);
}

/** The key that is signed in with. */
const owner = (): string => queryClient.getQueryData(sessionQuery.queryKey)?.key.id ?? "";

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
