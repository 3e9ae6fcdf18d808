import { useState } from "react";
import type { Place } from "@/features/datasets/model/place";
import type { Go } from "@/features/datasets/ui/page/use-place";

export interface Pages {
  /** Null where there is no such page. */
  readonly next: (() => void) | null;
  readonly previous: (() => void) | null;
}

interface Loaded {
  readonly has_more: boolean;
  readonly last_id: string | null;
}

/**
 * Pages by cursor. Filtered rows lie anywhere, so the way back is remembered as it is walked; somebody who came by a link
 * goes back to the beginning.
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
