import type { Choice } from "@/features/annotation/model/item";

/** The fields of a KeyboardEvent that matter here. */
export interface Press {
  readonly key: string;
  readonly code: string;
  readonly shiftKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly repeat: boolean;
}

export type Command =
  | { readonly type: "choose"; readonly choice: Choice }
  | { readonly type: "pick"; readonly index: number; readonly tie: boolean }
  | { readonly type: "join" }
  | { readonly type: "back" }
  | { readonly type: "submit" }
  | { readonly type: "undo" }
  | { readonly type: "help" };

const SHARED: Record<string, Command> = {
  s: { type: "choose", choice: "skip" },
  u: { type: "undo" },
  "?": { type: "help" },
};
const PAIR: Record<string, Choice> = { "1": "1", "2": "2", "0": "tie" };

/** The command of a key for a pair; null for other keys. */
export function pairCommand(press: Press): Command | null {
  if (isNone(press)) return null;
  const choice = PAIR[digit(press) ?? ""];
  return choice ? { type: "choose", choice } : (SHARED[press.key.toLowerCase()] ?? null);
}

/** The command of a key for a ranking of `count` completions; null for other keys. */
export function rankingCommand(press: Press, count: number): Command | null {
  if (isNone(press)) return null;
  if (press.key === "Enter") return { type: "submit" };
  if (press.key === "Backspace") return { type: "back" };
  const tied = press.shiftKey ? digitOfKey(press) : null;
  const number = Number(tied ?? digit(press) ?? Number.NaN);
  if (number === 0) return { type: "join" };
  if (number <= count) return { type: "pick", index: number - 1, tie: tied !== null };
  return SHARED[press.key.toLowerCase()] ?? null;
}

/** A key held down must not answer one item after the other; with Ctrl and the like it is the browser's. */
const isNone = (press: Press): boolean => press.repeat || press.ctrlKey || press.metaKey || press.altKey;

/** The digit that is typed, or, where digits need Shift (AZERTY), that of the key. */
function digit(press: Press): string | null {
  if (/^\d$/.test(press.key)) return press.key;
  return press.shiftKey ? null : digitOfKey(press);
}

/** The digit printed on the key in the row above the letters, whatever Shift makes of it. */
const digitOfKey = (press: Press): string | null => /^Digit(\d)$/.exec(press.code)?.[1] ?? null;
