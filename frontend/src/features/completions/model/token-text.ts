import type { Measure } from "@/features/completions/model/token-scale";
import type { TokenRow } from "@/lib/api/types";
import { measured, NO_VALUE } from "@/lib/format";
import { visible } from "@/lib/visible";

const SIGNS: Readonly<Record<string, string>> = { " ": "·", "\n": "↵\n", "\t": "⇥\t" };

/** A token's text with a sign for each whitespace and control character. A line break still breaks the line. */
export const tokenText = (text: string): string => visible(text).replace(/[ \n\t]/g, (one) => SIGNS[one] ?? one);

const SPOKEN: Readonly<Record<string, string>> = { " ": "space", "\n": "line break", "\t": "tab" };

/** The token and its number for a screen reader. */
export function tokenLabel(token: TokenRow, measure: Measure): string {
  const text = /^[ \n\t]+$/.test(token.text)
    ? Array.from(token.text, (one) => SPOKEN[one]).join(" ")
    : visible(token.text).trim() || "empty";
  const value = token[measure.id];
  const number = typeof value === "number" ? measured(value) : "not recorded";
  const marks = [token.special && "special token", token.clipped && "clipped"].filter(Boolean);
  return [text, `${measure.label} ${number}`, ...marks].join(", ");
}

export interface Fact {
  readonly name: string;
  readonly value: string;
}

const FACTS: readonly [string, (token: TokenRow) => number | null | undefined][] = [
  ["KL", (token) => token.kl],
  ["Advantage", (token) => token.advantage],
  ["Value", (token) => token.value],
  ["Reward", (token) => token.reward],
  ["Entropy", (token) => token.entropy],
  ["Ratio π/π_old", (token) => token.ratio],
  ["log π_old − log π_sampler", (token) => token.sampler_gap],
  ["log π", (token) => token.logprob],
  ["log π_ref", (token) => token.reference_logprob],
  ["log π_teacher", (token) => token.teacher_logprob],
  ["Probability", (token) => (typeof token.logprob === "number" ? Math.exp(token.logprob) : null)],
];

/** All numbers of a token, in a fixed order. A number that was not recorded is a dash. */
export function factsOf(token: TokenRow): Fact[] {
  const clipped = typeof token.clipped === "boolean" ? (token.clipped ? "yes" : "no") : NO_VALUE;
  return [
    ...FACTS.map(([name, read]) => ({ name, value: measured(read(token)) })),
    { name: "Clipped", value: clipped },
  ];
}

/** The token that a key leads to; null for a key without a meaning here. `up` and `down` are a line away. */
export function nextToken(key: string, at: number, count: number, lines: { up: number; down: number }): number | null {
  const targets: Readonly<Record<string, number>> = {
    ArrowLeft: at - 1,
    ArrowRight: at + 1,
    ArrowUp: lines.up,
    ArrowDown: lines.down,
    Home: 0,
    End: count - 1,
  };
  const target = targets[key];
  return target === undefined ? null : Math.max(0, Math.min(count - 1, target));
}
