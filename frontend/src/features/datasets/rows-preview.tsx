import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { rowsQuery } from "@/api/datasets";
import type { Dataset } from "@/api/types";
import { Button } from "@/components/button";
import { ErrorNotice } from "@/components/error-notice";
import { Skeleton } from "@/components/skeleton";
import { RowCard } from "@/features/datasets/row-card";
import styles from "@/features/datasets/datasets.module.css";

const PAGE = 20;

/** The rows as stored, a page at a time. */
export function RowsPreview({ dataset }: { dataset: Dataset }) {
  const [after, setAfter] = useState(0);
  const query = useQuery({ ...rowsQuery(dataset.id, after, PAGE), placeholderData: keepPreviousData });
  if (query.isPending) return <Skeleton rows={6} height="4rem" label="Loading rows" />;
  if (query.isError)
    return <ErrorNotice error={query.error} doing="load the rows" onRetry={() => void query.refetch()} />;
  const { data: rows, has_more: hasMore } = query.data;
  const go = (to: number) => {
    setAfter(Math.max(0, to));
    window.scrollTo({ top: 0 });
  };
  return (
    <section aria-label="Rows">
      <ol className={styles.rows}>
        {rows.map((row) => (
          <RowCard key={row.line} row={row} />
        ))}
      </ol>
      <div className={styles.pager}>
        <Button onClick={() => go(after - PAGE)} disabled={after === 0}>
          Previous
        </Button>
        <span>
          rows {rows[0]?.line ?? 0}–{rows.at(-1)?.line ?? 0} of {dataset.rows.toLocaleString("en-US")}
        </span>
        <Button onClick={() => go(after + PAGE)} disabled={!hasMore}>
          Next
        </Button>
      </div>
    </section>
  );
}
