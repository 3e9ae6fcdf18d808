import { useState } from "react";
import { Button } from "@/components/button";
import type { Go, Place } from "@/features/datasets/model/place";
import { count } from "@/lib/format";
import styles from "./rows.module.css";

interface PagerProps extends Pages {
  rows: readonly { readonly row_number: number }[];
  /** Number of matching rows; null where it was not counted. */
  total: number | null;
  sampled: boolean;
}

export function Pager({ rows, total, sampled, next, previous }: PagerProps) {
  if (!rows.length) return null;
  if (sampled) return <p className={styles.pager}>{count(rows.length, "row")}, drawn at random.</p>;
  return (
    <nav className={styles.pager} aria-label="Pages">
      <Button onClick={previous ?? undefined} disabled={!previous}>
        Previous
      </Button>
      <span role="status">
        rows {rows[0]?.row_number.toLocaleString("en-US")} to {rows.at(-1)?.row_number.toLocaleString("en-US")}
        {total !== null && `, ${total.toLocaleString("en-US")} in all`}
      </span>
      <Button onClick={next ?? undefined} disabled={!next}>
        Next
      </Button>
    </nav>
  );
}

interface Pages {
  /** Null where there is no such page. */
  readonly next: (() => void) | null;
  readonly previous: (() => void) | null;
}

interface Loaded {
  readonly has_more: boolean;
  readonly last_id: string | null;
}

/**
 * Pages by cursor. The pages before filtered rows are unknown, so this hook remembers those that were shown. After a
 * visit by link, the way back leads to the first page.
 */
export function usePages(place: Place, go: Go, loaded: Loaded | undefined, size: number): Pages {
  const filter = JSON.stringify([place.version, place.search, place.finding, place.split, place.seed]);
  const [walked, setWalked] = useState<{ filter: string; cursors: readonly number[] }>({ filter, cursors: [] });
  const behind = walked.filter === filter ? walked.cursors : [];
  const turn = (after: number, cursors: readonly number[]) => {
    // Pressed again before the page came that was asked for.
    if (after === place.after) return;
    setWalked({ filter, cursors });
    go({ after, row: null });
    window.scrollTo({ top: 0 });
  };
  const last = Number(loaded?.last_id);
  const isFiltered = Boolean(place.search || place.finding || place.split);
  const back = isFiltered ? (behind.at(-1) ?? 0) : Math.max(0, place.after - size);
  return {
    next: loaded?.has_more && place.seed === null ? () => turn(last, [...behind, place.after]) : null,
    previous: place.after > 0 && place.seed === null ? () => turn(back, behind.slice(0, -1)) : null,
  };
}
