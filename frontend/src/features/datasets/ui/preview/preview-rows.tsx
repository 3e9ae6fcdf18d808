import type { UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";
import { Segmented } from "@/components/segmented";
import { Skeleton } from "@/components/status";
import { Prose } from "@/components/text";
import { ProblemLines } from "@/features/datasets/ui/problem-lines";
import { RowCard } from "@/features/datasets/ui/rows/row-card";
import type { UploadPreview } from "@/lib/api/types";
import { count } from "@/lib/format";
import styles from "./preview.module.css";
import rowStyles from "@/features/datasets/ui/rows/rows.module.css";

type PreviewRow = UploadPreview["rows"][number];

type View = "stored" | "source";
const VIEWS = [
  { id: "stored", label: "As stored" },
  { id: "source", label: "Original" },
] as const;

interface Props {
  query: UseQueryResult<UploadPreview>;
  /** The choice that is missing. Until it is made, the rows are those of another reading. */
  lacking: string | null;
}

/** The first rows as they will be stored; what cannot be used stands at its line with the reason. */
export function PreviewRows({ query, lacking }: Props) {
  const [view, setView] = useState<View>("stored");
  const rows = query.data ? (lacking ? unread(query.data) : allRows(query.data)) : [];
  const bad = rows.filter((row) => row.problem !== null).length;
  return (
    <section className={styles.rows} aria-label="First rows" aria-busy={query.isFetching}>
      <header>
        <div>
          <h2>The first rows</h2>
          <p role="status" className={bad ? styles.bad : styles.note}>
            {lacking ?? told(rows.length, bad, query.isFetching)}
          </p>
        </div>
        <Segmented label="Show the rows" options={VIEWS} value={view} onChange={setView} />
      </header>
      {query.error && !lacking && <ProblemLines error={query.error} title="It cannot be read like this" />}
      {query.isPending && query.isFetching && <Skeleton rows={5} height="4rem" label="Loading the first rows" />}
      {query.data && rows.length === 0 && <Columns columns={query.data.columns} />}
      <ol className={rowStyles.rows}>
        {rows.map((row, index) => (
          <li key={index} className={`${rowStyles.row} ${row.problem === null ? "" : rowStyles.broken}`}>
            <Shown row={row} view={view} />
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The columns of the file, shown until the user has chosen their meaning. */
function Columns({ columns }: { columns: UploadPreview["columns"] }) {
  return (
    <dl className={styles.found}>
      {columns.map((column) => (
        <div key={column.name}>
          <dt>
            {column.name} <small>{column.type}</small>
          </dt>
          {column.examples.slice(0, 3).map((example) => (
            <dd key={example}>{example}</dd>
          ))}
        </div>
      ))}
    </dl>
  );
}

/** Records that could not even be read stand among the others, at their lines. */
function allRows(preview: UploadPreview): PreviewRow[] {
  const known = new Set(preview.rows.map((row) => row.line));
  const others = unread(preview).filter((row) => !known.has(row.line));
  return [...preview.rows, ...others].sort((one, other) => one.line - other.line);
}

const unread = ({ problems }: UploadPreview): PreviewRow[] =>
  problems.map(({ line, detail }) => ({ line, raw: "", row: null, problem: detail }));

function Shown({ row, view }: { row: PreviewRow; view: View }) {
  const number = <span title={`Line ${row.line} of the file`}>{row.line}</span>;
  if (view === "stored" && row.row && row.problem === null) return <RowCard row={row.row} number={number} />;
  return (
    <div className={rowStyles.prompt}>
      <span className={rowStyles.number}>{number}</span>
      <div>
        {row.problem !== null && (
          <p className={styles.bad}>
            <Prose text={row.problem} />
          </p>
        )}
        {row.raw && <code className={styles.raw}>{row.raw}</code>}
      </div>
    </div>
  );
}

function told(rows: number, bad: number, isFetching: boolean): string {
  if (isFetching && !rows) return "Reading…";
  if (!rows) return "The rows appear once you choose how to read the file.";
  if (!bad) return `${count(rows, "row")}, all in order.`;
  return `${bad} of ${count(rows, "record")} cannot be used like this.`;
}
