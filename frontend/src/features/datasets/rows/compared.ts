import type { Answer } from "@/features/datasets/rows/read-row";
import { diffTexts, type Part } from "@/lib/text-diff";

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
