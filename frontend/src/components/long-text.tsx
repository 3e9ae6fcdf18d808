import { useMemo, useState } from "react";
import { type Part, startOf } from "@/lib/text-diff";
import { visible } from "@/lib/visible";
import styles from "./long-text.module.css";

interface LongTextProps {
  text: string;
  /** The same text in parts, of which some are marked; null: none is. */
  parts?: readonly Part[] | null;
  /** Characters that are shown before the text is unfolded. */
  limit: number;
}

/** Lines that are shown before the text is unfolded. */
const MOST_LINES = 30;

/** Text from outside, with its whitespace. A long text is folded; characters without a shape are shown by a sign. */
export function LongText({ text, parts = null, limit }: LongTextProps) {
  const [open, setOpen] = useState(false);
  const all = useMemo(
    () => (parts ?? [{ text, changed: false }]).map((part) => ({ ...part, text: visible(part.text) })),
    [text, parts],
  );
  const whole = all.map((part) => part.text).join("");
  const end = Math.min(limit, endOfLine(whole, MOST_LINES));
  const isLong = whole.length > end;
  const isFolded = isLong && !open;
  const shown = isFolded ? startOf(all, end) : all;
  if (!text) return <em className={styles.empty}>empty</em>;
  if (!text.trim()) return <em className={styles.empty}>nothing but whitespace</em>;
  return (
    <>
      <span className={styles.text} dir="auto">
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

/** The place after so many lines; the length of a text that has no more. A run of line breaks counts as one. */
function endOfLine(text: string, lines: number): number {
  let left = lines;
  for (const { index } of text.matchAll(/\n+/g)) {
    left -= 1;
    if (left === 0) return index;
  }
  return text.length;
}
