import type { AnnotationItem as Handed } from "@/lib/api/types";

/** A prompt as stored: text, or the messages of a conversation. */
export type Prompt = string | readonly Readonly<Record<string, unknown>>[];

/** What is judged: a prompt and its completions, in the order in which this annotator sees them. */
export interface Item {
  readonly id: string;
  readonly kind: "pairs" | "ranking";
  readonly prompt: Prompt;
  readonly completions: readonly string[];
  /** What this annotator had answered before taking it back. */
  readonly previous?: Verdict | null;
}

export type Choice = "1" | "2" | "tie" | "skip";

/** Of a pair a choice; of a ranking the rank of each completion as shown, 1 the best, equal for a tie. */
export type Verdict = { readonly choice: Choice } | { readonly ranks: readonly number[] };

/** What the server shall hold for an item in the end: this annotator's answer, or none. */
export type Wish =
  { readonly type: "answer"; readonly verdict: Verdict; readonly seconds: number } | { readonly type: "undo" };

const WORDS: Record<Choice, string> = { "1": "first is better", "2": "second is better", tie: "tie", skip: "skipped" };

/** A verdict in words, for whoever gave it. */
export function inWords(verdict: Verdict): string {
  if ("choice" in verdict) return WORDS[verdict.choice];
  return tiers(verdict.ranks)
    .map((tier) => tier.join(" = "))
    .join(" › ");
}

/** The numbers of the completions, from 1, by rank. */
function tiers(ranks: readonly number[]): number[][] {
  const found = new Map<number, number[]>();
  ranks.forEach((rank, index) => found.set(rank, [...(found.get(rank) ?? []), index + 1]));
  return [...found].sort(([one], [other]) => one - other).map(([, tier]) => tier);
}

/** What is said in a prompt; `role` is null for a prompt of plain text. */
interface Turn {
  readonly role: string | null;
  readonly text: string;
}

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

export const turnsOf = (prompt: Prompt): Turn[] =>
  typeof prompt === "string"
    ? [{ role: null, text: prompt }]
    : prompt.map(({ role, content }) => ({ role: asText(role), text: asText(content) }));

const CHOICES: readonly Choice[] = ["1", "2", "tie", "skip"];

/** An item as the server hands it out. */
export function toItem({ id, kind, prompt, completions, previous }: Handed): Item {
  return { id, kind, prompt, completions, previous: verdictOf(previous) };
}

function verdictOf(previous: Handed["previous"]): Verdict | null {
  if (previous?.ranks) return { ranks: previous.ranks };
  const choice = CHOICES.find((each) => each === previous?.choice);
  return choice ? { choice } : null;
}

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
