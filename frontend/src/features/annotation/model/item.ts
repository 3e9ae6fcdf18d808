import type { AnnotationItem as Handed } from "@/lib/api/types";

/** A prompt as stored: text, or the messages of a conversation. */
export type Prompt = string | readonly Readonly<Record<string, unknown>>[];

/** A prompt and its completions to judge, in the order in which this annotator sees them. */
export interface Item {
  readonly id: string;
  readonly kind: "pairs" | "ranking";
  readonly prompt: Prompt;
  readonly completions: readonly string[];
  /** The answer that this annotator undid. */
  readonly previous?: Verdict | null;
}

export type Choice = "1" | "2" | "tie" | "skip";

/** A choice for a pair. For a ranking, the rank of each completion as shown: 1 is the best, ties are equal. */
export type Verdict = { readonly choice: Choice } | { readonly ranks: readonly number[] };

/** The state that the server should reach for an item: this annotator's answer, or none. */
export type Submission =
  { readonly type: "answer"; readonly verdict: Verdict; readonly seconds: number } | { readonly type: "undo" };

export const isSameChoice = (one: Verdict, other: Verdict | undefined): boolean =>
  other !== undefined && "choice" in one && "choice" in other && one.choice === other.choice;

const WORDS: Record<Choice, string> = { "1": "first is better", "2": "second is better", tie: "tie", skip: "skipped" };

/** A verdict as text for the annotator. */
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

/** One message of a prompt; `role` is null for a prompt of plain text. */
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

/** Items that the server assigns. Items that were assigned earlier come first. */
export interface ItemBatch {
  readonly status: string;
  readonly items: readonly Item[];
  readonly done: number;
  readonly total: number;
  /** Id of the item that this annotator answered last. */
  readonly last_item: string | null;
}

/** The server's response to a submission. */
export interface Receipt {
  readonly done: number;
  readonly total: number;
  /** After an undo: the item, and the id of the item that was answered before it. */
  readonly item?: Item | null | undefined;
  readonly last_item?: string | null | undefined;
}

export interface AnsweredItem {
  readonly item: Item;
  readonly verdict: Verdict;
}

export interface QueueView {
  /** Status of the round; null until the server has sent it. */
  readonly status: string | null;
  readonly item: Item | null;
  /** Increases each time an item appears, even the same item again. */
  readonly showing: number;
  /** The newest answer on this page. */
  readonly last: AnsweredItem | null;
  /** A key repeated too soon after the item appeared, so no answer was recorded. */
  readonly bounced: boolean;
  readonly canUndo: boolean;
  readonly done: number;
  readonly total: number;
  /** Whether the server has no more items for this annotator. */
  readonly finished: boolean;
  readonly error: Error | null;
}

export const emptyQueue: QueueView = {
  status: null,
  item: null,
  showing: 0,
  last: null,
  bounced: false,
  canUndo: false,
  done: 0,
  total: 0,
  finished: false,
  error: null,
};
