import type { Choice, Verdict, Wish } from "@/features/annotation/model/item";
import type { WishStore } from "@/features/annotation/model/outbox";

const PREFIX = "proximal-answers";

type Store = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

/**
 * Wishes in the browser's storage, one entry each, so that two tabs do not overwrite each other's entries. `owner` is the
 * API key's id: the rounds of another key are not accessible. Where storage is blocked or full, wishes last until the
 * page closes.
 */
export function keptWishes(storage: Store | null, owner: string, round: string, annotator: string): WishStore {
  const prefix = `${PREFIX}:${owner}:${round}:${encodeURIComponent(annotator)}:`;
  return {
    load: () =>
      keys(storage, prefix).flatMap((key): [string, Wish][] => {
        const wish = parse(storage?.getItem(key) ?? "");
        return wish ? [[key.slice(prefix.length), wish]] : [];
      }),
    save: (item, wish) => {
      try {
        storage?.setItem(prefix + item, JSON.stringify(wish));
      } catch {
        // Full: the wish is still in memory, and on its way.
      }
    },
    remove: (item) => storage?.removeItem(prefix + item),
  };
}

/** The rounds and annotators whose answers wait in this browser, left by pages that were closed in between. */
export function whoseWishesWait(storage: Store | null, owner: string): { round: string; annotator: string }[] {
  const prefix = `${PREFIX}:${owner}:`;
  const found = new Set(keys(storage, prefix).map((key) => key.slice(prefix.length, key.lastIndexOf(":"))));
  return [...found].map((whose) => {
    const colon = whose.indexOf(":");
    return { round: whose.slice(0, colon), annotator: decodeURIComponent(whose.slice(colon + 1)) };
  });
}

function keys(storage: Store | null, prefix: string): string[] {
  const found: string[] = [];
  for (let index = 0; index < (storage?.length ?? 0); index++) {
    const key = storage?.key(index);
    if (key?.startsWith(prefix)) found.push(key);
  }
  return found;
}

/** Storage may hold any text, from an older version of the page or from a person. */
function parse(text: string): Wish | null {
  try {
    const value: unknown = JSON.parse(text);
    return isWish(value) ? value : null;
  } catch {
    return null;
  }
}

function isWish(value: unknown): value is Wish {
  if (typeof value !== "object" || value === null || !("type" in value)) return false;
  if (value.type === "undo") return true;
  return value.type === "answer" && "seconds" in value && "verdict" in value && isVerdict(value.verdict);
}

const CHOICES: readonly Choice[] = ["1", "2", "tie", "skip"];

function isVerdict(value: unknown): value is Verdict {
  if (typeof value !== "object" || value === null) return false;
  if ("ranks" in value) return Array.isArray(value.ranks);
  return "choice" in value && CHOICES.some((choice) => choice === value.choice);
}
