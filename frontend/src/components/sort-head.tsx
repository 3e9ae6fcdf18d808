import type { ReactNode } from "react";
import styles from "./table.module.css";

interface SortHeadProps {
  /** Name of the column. The sort is this name, with "-" in front for descending; null is the order of the rows. */
  id: string;
  sort: string | null;
  /** Whether the first click sorts from the highest value. */
  highFirst?: boolean;
  onSort: (sort: string | null) => void;
  children: ReactNode;
}

/** The head of a column that sorts a table: in one direction, in the other one, and not at all. */
export function SortHead({ id, sort, highFirst = false, onSort, children }: SortHeadProps) {
  const directions = highFirst ? [`-${id}`, id] : [id, `-${id}`];
  const at = directions.indexOf(sort ?? "");
  const isDescending = sort === `-${id}`;
  return (
    <th scope="col" aria-sort={at < 0 ? undefined : isDescending ? "descending" : "ascending"}>
      <button type="button" className={styles.sort} onClick={() => onSort(directions[at + 1] ?? null)}>
        {children}
        {at >= 0 && <span aria-hidden>{isDescending ? " ↓" : " ↑"}</span>}
      </button>
    </th>
  );
}
