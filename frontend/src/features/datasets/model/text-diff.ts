import { diffWordsWithSpace } from "diff";

export interface Part {
  readonly text: string;
  readonly changed: boolean;
}

export interface TextDiff {
  readonly a: readonly Part[];
  readonly b: readonly Part[];
  /** Nothing was compared: the texts are too long, and too different, to be compared while a person waits. */
  readonly tooLong: boolean;
}

/** Of a page of twenty rows each may take as long. */
const PATIENCE_MS = 50;

/** Two texts, each cut into what it shares with the other one and what it does not. */
export function diffTexts(a: string, b: string): TextDiff {
  const changes = diffWordsWithSpace(a, b, { timeout: PATIENCE_MS });
  // Undefined when time ran out.
  if (!changes) return { a: [{ text: a, changed: false }], b: [{ text: b, changed: false }], tooLong: true };
  const side = (other: "added" | "removed", own: "added" | "removed"): Part[] =>
    joined(changes.filter((change) => !change[other]).map((change) => ({ text: change.value, changed: change[own] })));
  return { a: side("added", "removed"), b: side("removed", "added"), tooLong: false };
}

/** White space between two changes is no common ground: marked with them, it leaves whole phrases to be read. */
function joined(parts: readonly Part[]): Part[] {
  const result: Part[] = [];
  parts.forEach((part, index) => {
    const isGap = !part.text.trim() && parts[index - 1]?.changed === true && parts[index + 1]?.changed === true;
    const changed = part.changed || isGap;
    const last = result.at(-1);
    if (last?.changed === changed) result[result.length - 1] = { text: last.text + part.text, changed };
    else result.push({ text: part.text, changed });
  });
  return result;
}
