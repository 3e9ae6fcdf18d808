import type { ComponentProps, ReactNode } from "react";
import styles from "./card.module.css";

interface CardProps extends Omit<ComponentProps<"section">, "title"> {
  title?: ReactNode;
  /** A control beside the title. */
  beside?: ReactNode;
}

/** A framed part of a page. */
export function Card({ title, beside, className = "", children, ...section }: CardProps) {
  return (
    <section className={`${styles.card} ${className}`} {...section}>
      {title && (
        <div className={styles.title}>
          <h2>{title}</h2>
          {beside}
        </div>
      )}
      {children}
    </section>
  );
}

/** Secondary text of a card or a form. */
export function Note({ className = "", ...paragraph }: ComponentProps<"p">) {
  return <p className={`${styles.note} ${className}`} {...paragraph} />;
}

/** Cards side by side, as many as fit. */
export function Cards({ children }: { children: ReactNode }) {
  return <div className={styles.cards}>{children}</div>;
}
