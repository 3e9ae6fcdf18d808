import { useState } from "react";
import { Table } from "@/components/table";
import { sorted, type Sorting, type SortKey, toggled } from "@/features/run/model/completions";
import type { Sample } from "@/lib/api/types";
import { fixed, NO_VALUE } from "@/lib/format";
import styles from "./completions.module.css";

const COLUMNS: readonly { key: SortKey; label: string; decimals: number }[] = [
  { key: "score", label: "Score", decimals: 2 },
  { key: "judge", label: "Judge", decimals: 2 },
  { key: "kl", label: "KL", decimals: 2 },
  { key: "tokens", label: "Tokens", decimals: 0 },
];

export function CompletionTable({ rows }: { rows: readonly Sample[] }) {
  const [sorting, setSorting] = useState<Sorting | null>(null);
  const columns = COLUMNS.filter(({ key }) => rows.some((row) => typeof row[key] === "number"));
  const head = [
    "Prompt",
    "Response",
    ...columns.map(({ key, label }) => (
      <th key={key} scope="col" className={styles.figure} aria-sort={direction(sorting, key)}>
        <button type="button" onClick={() => setSorting(toggled(sorting, key))}>
          {label}
        </button>
      </th>
    )),
    "Ended",
  ];
  return (
    <Table head={head} className={styles.table}>
      {sorted(rows, sorting).map((row, index) => (
        <tr key={index}>
          <td className={styles.prompt}>
            <LongText text={row.prompt} />
          </td>
          <td className={styles.response}>
            <LongText text={row.response} />
          </td>
          {columns.map(({ key, label, decimals }) => (
            <td key={key} data-label={label} className={styles.figure}>
              {fixed(row[key], decimals)}
            </td>
          ))}
          <td data-label="Ended" className={styles.ended}>
            <Ended finished={row.finished ?? null} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function direction(sorting: Sorting | null, key: SortKey): "ascending" | "descending" | "none" {
  if (sorting?.key !== key) return "none";
  return sorting.descending ? "descending" : "ascending";
}

function Ended({ finished }: { finished: boolean | null }) {
  if (finished === null) return <>{NO_VALUE}</>;
  if (finished) return <span title="The response ended with an EOS token">EOS</span>;
  return (
    <span className={styles.cut} title="It reached the longest length without an EOS token">
      cut off
    </span>
  );
}

const LONG = 420;

/** Text as the model wrote it, but for the space that tokenizers put in front; folded when it is long. */
export function LongText({ text }: { text: string }) {
  const [open, setOpen] = useState(false);
  if (!text.trim()) return <em className={styles.empty}>empty</em>;
  const isLong = text.length > LONG;
  const shown = isLong && !open ? `${text.slice(0, LONG)}…` : text;
  return (
    <>
      <span className={styles.text}>{shown.trimStart()}</span>
      {isLong && (
        <button type="button" className={styles.more} onClick={() => setOpen(!open)} aria-expanded={open}>
          {open ? "Show less" : "Show all"}
        </button>
      )}
    </>
  );
}
