import type { Place } from "@/features/datasets/model/place";
import { readRow } from "@/features/datasets/model/read-row";
import { type Cell, tableColumns } from "@/features/datasets/model/table-columns";
import { RowCard } from "@/features/datasets/ui/rows/row-card";
import { RowNumber } from "@/features/datasets/ui/rows/row-list";
import type { DatasetRow } from "@/lib/api/types";
import styles from "./rows.module.css";

interface Props {
  rows: readonly DatasetRow[];
  place: Place;
  current: number | null;
  onCurrent: (row: number | null) => void;
}

/** Many rows at a glance, each cut to two lines; the one at hand is shown in full. */
export function RowTable({ rows, place, current, onCurrent }: Props) {
  const read = rows.map((row) => readRow(row.row));
  const columns = tableColumns(read);
  return (
    <div className={styles.frame}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Row</th>
            {columns.map((column) => (
              <th key={column.title} scope="col" className={column.narrow ? styles.narrow : ""}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
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
                <td className={styles.number}>
                  <RowNumber row={row} place={place} />
                  <Opener row={row} isOpen={false} onToggle={() => onCurrent(row.row_number)} />
                </td>
                {columns.map((column) => (
                  <TextCell key={column.title} cell={column.cell(read[index])} />
                ))}
              </tr>
            )}
          </tbody>
        ))}
      </table>
    </div>
  );
}

/** Over the whole of a row that is cut short; a word of its own in one that is open, whose texts can then be selected. */
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
