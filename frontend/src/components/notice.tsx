import type { ReactNode } from "react";
import styles from "./notice.module.css";

interface Props {
  title: string;
  tone?: "neutral" | "bad" | "warn";
  children?: ReactNode;
}

/** What a page says when it has nothing, or bad news, to show. */
export function Notice({ title, tone = "neutral", children }: Props) {
  return (
    <section className={`${styles.notice} ${styles[tone]}`} role={tone === "neutral" ? undefined : "alert"}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}
