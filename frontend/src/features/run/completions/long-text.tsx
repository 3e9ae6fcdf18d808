import { useState } from "react";
import styles from "@/features/run/completions/completions.module.css";

const LONG = 420;

/** Text as the model wrote it, folded when it is long. */
export function LongText({ text }: { text: string }) {
  const [open, setOpen] = useState(false);
  if (!text.trim()) return <em className={styles.empty}>empty</em>;
  const isLong = text.length > LONG;
  return (
    <>
      <span className={styles.text}>{isLong && !open ? `${text.slice(0, LONG)}…` : text}</span>
      {isLong && (
        <button type="button" className={styles.more} onClick={() => setOpen(!open)} aria-expanded={open}>
          {open ? "Show less" : "Show all"}
        </button>
      )}
    </>
  );
}
