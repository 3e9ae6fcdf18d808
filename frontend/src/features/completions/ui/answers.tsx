import type { CSSProperties, ReactNode } from "react";
import { LongText } from "@/components/long-text";
import { LONG } from "@/features/completions/ui/completion-card";
import { trimmedStart } from "@/lib/visible";
import list from "./completions.module.css";
import styles from "./side-by-side.module.css";

interface AnswersProps {
  prompt: string;
  /** Number of the answers beside each other. A phone shows them below each other. */
  columns: number;
  /** Controls beside the prompt. */
  actions?: ReactNode;
  /** Shown below the answers. */
  foot?: ReactNode;
  /** An `Answer` for each column. */
  children: ReactNode;
}

/** A prompt over its answers by several policies, such as those of two stages or of several runs. */
export function Answers({ prompt, columns, actions, foot, children }: AnswersProps) {
  return (
    <article className={styles.pair} style={{ "--columns": columns } as CSSProperties}>
      <div className={styles.asked}>
        {/* It stays in view while the answers scroll sideways. */}
        <p>
          <LongText text={trimmedStart(prompt)} limit={LONG} />
        </p>
        {actions && <div className={list.actions}>{actions}</div>}
      </div>
      {children}
      {foot && <div className={styles.noted}>{foot}</div>}
    </article>
  );
}

interface AnswerProps {
  /** The name of the policy, and its figures. */
  who: ReactNode;
  better?: boolean;
  children: ReactNode;
}

export function Answer({ who, better = false, children }: AnswerProps) {
  return (
    <div className={`${styles.answer} ${better ? styles.better : ""}`}>
      <div className={styles.who}>{who}</div>
      {children}
    </div>
  );
}
