import { Table } from "@/components/table";
import { useEffect, useRef } from "react";
import { Link } from "react-router";
import { moved, type Place, writePlace } from "@/features/datasets/model/place";
import { type Cell, readRow, tableColumns } from "@/features/datasets/model/rows";
import { RowCard } from "@/features/datasets/ui/rows/row-card";
import type { DatasetRow } from "@/lib/api/types";
import styles from "./rows.module.css";

interface RowListProps {
  rows: readonly DatasetRow[];
  place: Place;
  /** The number of the row that the keyboard is at. */
  current: number | null;
  onCurrent: (row: number | null) => void;
  /** These are the rows before; others are on their way. */
  busy: boolean;
}

export function RowList({ rows, place, current, onCurrent, busy }: RowListProps) {
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
function RowNumber({ row, place }: { row: DatasetRow; place: Place }) {
  const { row_number: number, line, split } = row;
  const address = writePlace(moved(place, { row: number, after: number - 1 })).toString();
  return (
    <>
      <Link to={`?${address}`} title={`Row ${number}. A link to it.`} aria-label={`Row ${number}`}>
        {number}
      </Link>
      {line !== number && <small title="Line of the source">line {line}</small>}
      {split === "eval" && <small title="Held out from training: its prompt is for evaluation">eval</small>}
    </>
  );
}

interface RowTableProps {
  rows: readonly DatasetRow[];
  place: Place;
  current: number | null;
  onCurrent: (row: number | null) => void;
}

/** Many rows at a glance, each cut to two lines; the one at hand is shown in full. */
function RowTable({ rows, place, current, onCurrent }: RowTableProps) {
  const read = rows.map((row) => readRow(row.row));
  const columns = tableColumns(read);
  const head = [
    "Row",
    ...columns.map(({ title, narrow }) => (
      <th key={title} scope="col" className={narrow ? styles.narrow : ""}>
        {title}
      </th>
    )),
  ];
  return (
    <Table label="Rows" bodies head={head} className={styles.table}>
      {rows.map((row, index) => (
        <tbody key={row.row_number} data-row={row.row_number} tabIndex={-1}>
          {row.row_number === current ? (
            <tr aria-current className={styles.opened}>
              <td colSpan={columns.length + 1}>
                <RowCard
                  row={row.row}
                  diff={place.diff}
                  number={
                    <>
                      <RowNumber row={row} place={place} />
                      <Opener row={row} isOpen onToggle={() => onCurrent(null)} />
                    </>
                  }
                />
              </td>
            </tr>
          ) : (
            <tr>
              <th scope="row" className={styles.number}>
                <RowNumber row={row} place={place} />
                <Opener row={row} isOpen={false} onToggle={() => onCurrent(row.row_number)} />
              </th>
              {columns.map((column) => (
                <TextCell key={column.title} cell={column.cell(read[index])} />
              ))}
            </tr>
          )}
        </tbody>
      ))}
    </Table>
  );
}

/** Covers a closed row. In an open row it is a small button, so that the texts can be selected. */
function Opener({ row, isOpen, onToggle }: { row: DatasetRow; isOpen: boolean; onToggle: () => void }) {
  return (
    <button
      type="button"
      className={isOpen ? styles.closer : styles.opener}
      aria-expanded={isOpen}
      aria-label={`${isOpen ? "close" : "open"} row ${row.row_number}`}
      onClick={onToggle}
    >
      {isOpen && "close"}
    </button>
  );
}

function TextCell({ cell }: { cell: Cell }) {
  return (
    <td className={cell.preferred ? styles.preferred : ""}>
      <span className={styles.clamped}>{cell.text}</span>
    </td>
  );
}
