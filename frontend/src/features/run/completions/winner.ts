import type { SampleRow } from "@/lib/run/event";

/** Which answer is better: by the judge where there is one, else by the reward model, as the win rate counts. */
export function winner(row: SampleRow): "sft" | "ppo" | "tie" | null {
  const judged = row.judge !== null && row.reference_judge !== null;
  const after = judged ? row.judge : row.score;
  const before = judged ? row.reference_judge : row.reference_score;
  if (after === null || before === null) return null;
  if (after === before) return "tie";
  return after > before ? "ppo" : "sft";
}
