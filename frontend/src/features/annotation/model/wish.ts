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
