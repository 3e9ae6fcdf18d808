import type { Choice, Item, Verdict } from "@/features/annotation/model/wish";
import type { AnnotationItem as Handed } from "@/lib/api/types";

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
