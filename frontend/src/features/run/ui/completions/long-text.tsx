import { useState } from "react";
import styles from "./completions.module.css";

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
