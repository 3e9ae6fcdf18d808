import { useState } from "react";
import { startOf } from "@/features/datasets/model/compared";
import type { Part } from "@/features/datasets/model/text-diff";
import styles from "./rows.module.css";

const LONG = 1200;

interface Props {
  text: string;
  /** The same text in parts, of which some are marked; null: none is. */
  parts?: readonly Part[] | null;
}

/** Text as it is stored, whitespace and all; folded when it is long. */
export function LongText({ text, parts = null }: Props) {
  const [open, setOpen] = useState(false);
  if (!text) return <em className={styles.empty}>empty</em>;
  if (!text.trim()) return <em className={styles.empty}>nothing but whitespace</em>;
  const isLong = text.length > LONG;
  const isFolded = isLong && !open;
  const all = parts ?? [{ text, changed: false }];
  const shown = isFolded ? startOf(all, LONG) : all;
  return (
    <>
      <span className={styles.text}>
        {shown.map((part, index) => (part.changed ? <mark key={index}>{part.text}</mark> : part.text))}
        {isFolded && "…"}
      </span>
      {isLong && (
        <button type="button" className={styles.more} onClick={() => setOpen(!open)} aria-expanded={open}>
          {open ? "Show less" : `Show all ${text.length.toLocaleString("en-US")} characters`}
        </button>
      )}
    </>
  );
}
