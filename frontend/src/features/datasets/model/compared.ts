import type { Answer } from "@/features/datasets/model/read-row";
import { diffTexts, type Part } from "@/features/datasets/model/text-diff";

export interface Compared {
  /** Each answer in parts; null where it is not compared. */
  readonly parts: readonly (readonly Part[] | null)[];
  readonly tooLong: boolean;
}

/** Two answers are compared with each other; of more, each with the first one, which is the best of a ranking. */
export function compareAnswers(answers: readonly Answer[]): Compared {
  const [first, second] = answers;
  if (!first || !second) return { parts: answers.map(() => null), tooLong: false };
  const diffs = answers.slice(1).map((other) => diffTexts(first.text, other.text));
  const own = answers.length === 2 ? (diffs[0]?.a ?? null) : null;
  return { parts: [own, ...diffs.map((diff) => diff.b)], tooLong: diffs.some((diff) => diff.tooLong) };
}

/** So many characters of a text in parts. */
export function startOf(parts: readonly Part[], characters: number): Part[] {
  const start: Part[] = [];
  let left = characters;
  for (const part of parts) {
    if (left <= 0) break;
    start.push({ ...part, text: part.text.slice(0, left) });
    left -= part.text.length;
  }
  return start;
}
