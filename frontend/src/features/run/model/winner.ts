import type { SampleRow } from "@/features/run/model/event";

/**
 * Which answer is better: by the judge where the job has one (unknown, if it only compares), else by its rewards, as the
 * win rate counts.
 */
export function winner(row: SampleRow, judged: boolean): "before" | "after" | "tie" | null {
  const after = judged ? row.judge : row.score;
  const before = judged ? row.reference_judge : row.reference_score;
  if (after === null || before === null) return null;
  if (after === before) return "tie";
  return after > before ? "after" : "before";
}
