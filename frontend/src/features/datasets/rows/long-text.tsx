import { useState } from "react";
import styles from "@/features/datasets/rows/rows.module.css";

const LONG = 1200;

/** Text as it is stored, whitespace and all; folded when it is long. */
export function LongText({ text }: { text: string }) {
  const [open, setOpen] = useState(false);
  if (!text) return <em className={styles.empty}>empty</em>;
  if (!text.trim()) return <em className={styles.empty}>nothing but whitespace</em>;
  const isLong = text.length > LONG;
  return (
    <>
      <span className={styles.text}>{isLong && !open ? `${text.slice(0, LONG)}…` : text}</span>
      {isLong && (
        <button type="button" className={styles.more} onClick={() => setOpen(!open)} aria-expanded={open}>
          {open ? "Show less" : `Show all ${text.length.toLocaleString("en-US")} characters`}
        </button>
      )}
    </>
  );
}
