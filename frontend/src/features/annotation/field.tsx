import type { ReactNode } from "react";
import styles from "@/features/annotation/field.module.css";

interface Props {
  label: string;
  note?: ReactNode;
  problem?: string | undefined;
  wide?: boolean;
  children: ReactNode;
}

/** One field with its name, what it means, and what is wrong with it. */
export function Field({ label, note, problem, wide = false, children }: Props) {
  return (
    <div className={`${styles.field} ${wide ? styles.wide : ""}`} data-problem={problem ? true : undefined}>
      <label>
        <span>{label}</span>
        {children}
      </label>
      {problem ? <small className={styles.problem}>{problem}</small> : note && <small>{note}</small>}
    </div>
  );
}
