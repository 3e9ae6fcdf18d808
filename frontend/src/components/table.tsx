import type { ReactNode } from "react";
import { Link } from "react-router";
import styles from "./table.module.css";

interface TableProps {
  /** Name of the table for screen readers. */
  label: string;
  /** Text of each column's head, or its cell where it does more than name the column. */
  head: readonly ReactNode[];
  /** `framed` is a list of its own, whose rows stack on a narrow screen; `plain` lies inside a card. */
  look?: "framed" | "plain";
  className?: string | undefined;
  /** A plain table with many rows or columns scrolls below its head and beside its first column. */
  sticky?: boolean;
  /** Rows, or several bodies. */
  children: ReactNode;
  bodies?: boolean;
}

/** A table. On a narrow screen a framed one shows each row as a block; a cell's `data-label` then names its value. */
export function Table({
  label,
  head,
  look = "framed",
  className = "",
  sticky = false,
  bodies = false,
  children,
}: TableProps) {
  const table = (
    <table className={`${styles[look]} ${className}`} aria-label={label}>
      <thead>
        <tr>{head.map((cell, index) => (typeof cell === "string" ? <Head key={index}>{cell}</Head> : cell))}</tr>
      </thead>
      {bodies ? children : <tbody>{children}</tbody>}
    </table>
  );
  if (look === "framed") return <div className={styles.frame}>{table}</div>;
  // The focus lets the arrow keys scroll a table that is wider than its card.
  return (
    <div
      className={`${styles.scroll} ${sticky ? styles.sticky : "fading"}`}
      role="group"
      aria-label={label}
      tabIndex={0}
    >
      {table}
    </div>
  );
}

function Head({ children }: { children: string }) {
  return <th scope="col">{children}</th>;
}

/** A link that covers the whole row of a framed table. */
export function RowLink({ to, children }: { to: string; children: ReactNode }) {
  return (
    <Link to={to} className={styles.link}>
      {children}
    </Link>
  );
}
