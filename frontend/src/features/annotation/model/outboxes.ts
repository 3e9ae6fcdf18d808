import { putAnswer, undoAnswer } from "@/features/annotation/api";
import { type Receipt, type Submission, toItem } from "@/features/annotation/model/item";
import { storedSubmissions, storedSubmitters } from "@/features/annotation/model/stored-submissions";
import { Outbox } from "@/features/annotation/model/outbox";
import { sessionQuery } from "@/features/auth/api";
import { ApiError, noticeSignOut, queryClient } from "@/lib/api/client";

/** Answers of one annotator to a round that are being sent. */
export interface AnnotatorOutbox {
  readonly round: string;
  readonly annotator: string;
  readonly outbox: Outbox<Receipt>;
}

/** By key, round and annotator. They remain until the tab is closed, so that answers are sent after a change of page. */
const known = new Map<string, AnnotatorOutbox>();

/** Statuses after which the same answer may be accepted later. */
const PASSING = new Set([0, 401, 408, 425, 429]);

export function outboxOf(round: string, annotator: string): Outbox<Receipt> {
  const key = `${owner()} ${round} ${annotator}`;
  const there = known.get(key);
  if (there) return there.outbox;
  const deliver = (item: string, submission: Submission) => send(round, annotator, item, submission);
  const outbox = new Outbox<Receipt>({ deliver, isPassing }, storedSubmissions(storage(), owner(), round, annotator));
  known.set(key, { round, annotator, outbox });
  return outbox;
}

/** Outboxes with answers to send or with refusals to read, including those of closed pages. */
export function outboxesToSend(): readonly AnnotatorOutbox[] {
  for (const { round, annotator } of storedSubmitters(storage(), owner())) outboxOf(round, annotator);
  return [...known].filter(([key]) => key.startsWith(`${owner()} `)).map(([, post]) => post);
}

/** Id of the API key behind the session. */
const owner = (): string => queryClient.getQueryData(sessionQuery.queryKey)?.key.id ?? "";

async function send(round: string, annotator: string, item: string, submission: Submission): Promise<Receipt> {
  try {
    if (submission.type === "answer") {
      const { verdict, seconds } = submission;
      const chosen = "ranks" in verdict ? { ranks: [...verdict.ranks] } : verdict;
      const { done, total } = await putAnswer(round, item, { annotator, ...chosen, seconds });
      return { done, total };
    }
    const receipt = await undoAnswer(round, annotator, item);
    return { ...receipt, item: receipt.item && toItem(receipt.item) };
  } catch (error) {
    noticeSignOut(error);
    throw error;
  }
}

/** An error that is not an ApiError is a time-out. */
const isPassing = (error: unknown): boolean =>
  !(error instanceof ApiError) || PASSING.has(error.status) || error.status >= 500;

function storage(): Storage | null {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}
