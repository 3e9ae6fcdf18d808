import type { Sample } from "@/lib/api/types";

export type SortKey = "score" | "judge" | "kl" | "tokens";

export interface Sorting {
  readonly key: SortKey;
  readonly descending: boolean;
}

/** The rows sorted by a column. Rows without a value come last. Without a sorting, the run's order is kept. */
export function sorted(rows: readonly Sample[], sorting: Sorting | null): readonly Sample[] {
  if (!sorting) return rows;
  const { key, descending } = sorting;
  return rows.toSorted((a, b) => {
    const [x, y] = [a[key] ?? null, b[key] ?? null];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return descending ? y - x : x - y;
  });
}

/** The sorting after a click on a column: descending, then ascending, then none. */
export function toggled(sorting: Sorting | null, key: SortKey): Sorting | null {
  if (sorting?.key !== key) return { key, descending: true };
  return sorting.descending ? { key, descending: false } : null;
}

/**
 * The better answer: by the judge's score if the job has a judge, otherwise by the rewards. The win rate counts the same
 * way. Null without scores, such as those of a judge that only compares.
 */
export function winner(row: Sample, judged: boolean): "before" | "after" | "tie" | null {
  const after = (judged ? row.judge : row.score) ?? null;
  const before = (judged ? row.reference_judge : row.reference_score) ?? null;
  if (after === null || before === null) return null;
  if (after === before) return "tie";
  return after > before ? "after" : "before";
}
