import { Button } from "@/components/button";
import type { Pages } from "@/features/datasets/ui/rows/use-pages";
import { count } from "@/lib/format";
import styles from "./rows.module.css";

interface Props extends Pages {
  rows: readonly { readonly row_number: number }[];
  /** How many match; null where nobody counted them. */
  total: number | null;
  sampled: boolean;
}

export function Pager({ rows, total, sampled, next, previous }: Props) {
  if (!rows.length) return null;
  if (sampled) return <p className={styles.pager}>{count(rows.length, "row")}, drawn at random.</p>;
  return (
    <nav className={styles.pager} aria-label="Pages">
      <Button onClick={previous ?? undefined} disabled={!previous}>
        Previous
      </Button>
      <span>
        rows {rows[0]?.row_number.toLocaleString("en-US")}–{rows.at(-1)?.row_number.toLocaleString("en-US")}
        {total !== null && `, ${total.toLocaleString("en-US")} in all`}
      </span>
      <Button onClick={next ?? undefined} disabled={!next}>
        Next
      </Button>
    </nav>
  );
}
