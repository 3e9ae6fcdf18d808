import type { ReactNode } from "react";
import styles from "./queue.module.css";

interface Props {
  number: number;
  text: string;
  /** Instead of the number, which it then shows itself. */
  children?: ReactNode;
  marked?: boolean;
}

/** One answer of a model; nothing tells of which. */
export function Completion({ number, text, children, marked = false }: Props) {
  return (
    <section className={`${styles.completion} ${marked ? styles.marked : ""}`} aria-label={`Answer ${number}`}>
      <header>
        {children ?? (
          <span className={styles.number} aria-hidden>
            {number}
          </span>
        )}
      </header>
      {text.trim() ? <p className={styles.text}>{text}</p> : <p className={styles.nothing}>(an empty answer)</p>}
    </section>
  );
}
