import { diffWordsWithSpace } from "diff";

export interface Part {
  readonly text: string;
  readonly changed: boolean;
}

interface TextDiff {
  readonly a: readonly Part[];
  readonly b: readonly Part[];
  /** Nothing was compared: the texts are too long, and too different, to be compared while a person waits. */
  readonly tooLong: boolean;
}

/** Time limit for each of the twenty rows of a page. */
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

interface Compared {
  /** Each answer in parts; null where it is not compared. */
  readonly parts: readonly (readonly Part[] | null)[];
  readonly tooLong: boolean;
}

/** Two answers are compared with each other; of more, each with the first one, which is the best of a ranking. */
export function compareAnswers(answers: readonly { readonly text: string }[]): Compared {
  const [first, second] = answers;
  if (!first || !second) return { parts: answers.map(() => null), tooLong: false };
  const diffs = answers.slice(1).map((other) => diffTexts(first.text, other.text));
  const own = answers.length === 2 ? (diffs[0]?.a ?? null) : null;
  return { parts: [own, ...diffs.map((diff) => diff.b)], tooLong: diffs.some((diff) => diff.tooLong) };
}

/** So many characters of a text in parts, or one less where the last one would be half of a character. */
export function startOf(parts: readonly Part[], characters: number): Part[] {
  const start: Part[] = [];
  let left = characters;
  for (const part of parts) {
    if (left <= 0) break;
    start.push({ ...part, text: part.text.slice(0, left).replace(/[\ud800-\udbff]$/, "") });
    left -= part.text.length;
  }
  return start;
}
