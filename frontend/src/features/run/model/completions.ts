import type { SampleRow } from "@/features/run/model/event";

export type SortKey = "score" | "judge" | "kl" | "tokens";

export interface Sorting {
  readonly key: SortKey;
  readonly descending: boolean;
}

/** By one column; rows that lack the figure come last either way. Without a sorting the order is the run's. */
export function sorted(rows: readonly SampleRow[], sorting: Sorting | null): readonly SampleRow[] {
  if (!sorting) return rows;
  const { key, descending } = sorting;
  return rows.toSorted((a, b) => {
    const [x, y] = [a[key], b[key]];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return descending ? y - x : x - y;
  });
}

/** A click on a column: greatest first, then least first, then as it was. */
export function toggled(sorting: Sorting | null, key: SortKey): Sorting | null {
  if (sorting?.key !== key) return { key, descending: true };
  return sorting.descending ? { key, descending: false } : null;
}

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
