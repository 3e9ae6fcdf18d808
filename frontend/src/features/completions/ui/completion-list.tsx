import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";
import { ErrorNotice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import styles from "./completions.module.css";

const USUAL_HEIGHT = 112;

interface CompletionListProps<Row> {
  rows: readonly Row[];
  render: (row: Row) => ReactNode;
  keyOf: (row: Row) => string;
  /** The row at which the list begins: the page scrolls to it once. */
  start?: number | undefined;
}

/** A list of completions. Only those near the screen are in the document. */
export function CompletionList<Row>({ rows, render, keyOf, start = 0 }: CompletionListProps<Row>) {
  const list = useRef<HTMLUListElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setTop((list.current?.getBoundingClientRect().top ?? 0) + window.scrollY);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, []);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => USUAL_HEIGHT,
    overscan: 6,
    scrollMargin: top,
    getItemKey: (index) => {
      const row = rows[index];
      return row ? keyOf(row) : index;
    },
  });
  const begun = useRef(false);
  useEffect(() => {
    if (begun.current || top === 0) return;
    begun.current = true;
    if (start > 0) virtual.scrollToIndex(start, { align: "center" });
  }, [virtual, start, top]);
  return (
    <ul ref={list} className={styles.list} style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map((item) => {
        const row = rows[item.index];
        return (
          row && (
            <li
              key={item.key}
              ref={virtual.measureElement}
              data-index={item.index}
              aria-setsize={rows.length}
              aria-posinset={item.index + 1}
              style={{ transform: `translateY(${item.start - top}px)` }}
            >
              {render(row)}
            </li>
          )
        );
      })}
    </ul>
  );
}

interface PendingProps {
  query: { readonly isError: boolean; readonly error: Error | null; readonly refetch: () => Promise<unknown> };
}

/** Stands for completions that are being loaded, or could not be. */
export function Pending({ query }: PendingProps) {
  if (query.error)
    return <ErrorNotice error={query.error} doing="load these completions" onRetry={() => void query.refetch()} />;
  return <Skeleton rows={5} height="3.5rem" label="Loading completions" />;
}
