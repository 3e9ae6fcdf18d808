import { useEffect, useRef } from "react";
import { Link } from "react-router";
import { moved, type Place, writePlace } from "@/features/datasets/model/place";
import { RowCard } from "@/features/datasets/ui/rows/row-card";
import { RowTable } from "@/features/datasets/ui/rows/row-table";
import type { DatasetRow } from "@/lib/api/types";
import styles from "./rows.module.css";

interface Props {
  rows: readonly DatasetRow[];
  place: Place;
  /** The number of the row that the keyboard is at. */
  current: number | null;
  onCurrent: (row: number | null) => void;
  /** These are the rows before; others are on their way. */
  busy: boolean;
}

export function RowList({ rows, place, current, onCurrent, busy }: Props) {
  const list = useRef<HTMLDivElement>(null);
  const { view } = place;
  const isLoaded = rows.some((row) => row.row_number === current);
  useEffect(() => {
    if (current === null || !isLoaded) return;
    const element = list.current?.querySelector<HTMLElement>(`[data-row="${current}"]`);
    element?.focus({ preventScroll: true });
    element?.scrollIntoView({ block: "nearest" });
  }, [current, isLoaded, view]);
  return (
    <div ref={list} aria-busy={busy} className={styles.list}>
      {view === "table" ? (
        <RowTable {...{ rows, place, current, onCurrent }} />
      ) : (
        <ol className={styles.rows}>
          {rows.map((row) => (
            <li
              key={row.row_number}
              data-row={row.row_number}
              tabIndex={-1}
              aria-current={row.row_number === current || undefined}
              className={styles.row}
            >
              <RowCard row={row.row} number={<RowNumber row={row} place={place} />} diff={place.diff} />
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

/** The number, as a link to this very row; with the line of the source where that is another one. */
export function RowNumber({ row, place }: { row: DatasetRow; place: Place }) {
  const { row_number: number, line, split } = row;
  const address = writePlace(moved(place, { row: number, after: number - 1 })).toString();
  return (
    <>
      <Link to={`?${address}`} title={`Row ${number}. A link to it.`} preventScrollReset>
        {number}
      </Link>
      {line !== number && <small title="Line of the source">line {line}</small>}
      {split === "eval" && <small title="Held out from training: its prompt is for evaluation">eval</small>}
    </>
  );
}
