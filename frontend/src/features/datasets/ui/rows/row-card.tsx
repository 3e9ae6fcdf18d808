import { memo, type ReactNode, useMemo, useState } from "react";
import { type Answer, readRow, type Turn } from "@/features/datasets/model/rows";
import { compareAnswers, type Part, startOf } from "@/features/datasets/model/text-diff";
import styles from "./rows.module.css";

interface RowCardProps {
  row: Readonly<Record<string, unknown>>;
  /** Content beside the prompt: the row's number as a link. */
  number: ReactNode;
  /** Marks where the answers differ. */
  diff?: boolean;
}

const VERDICTS = {
  tie: "tie",
  unlabelled: "not judged yet",
  "thumb up": "thumb up",
  "thumb down": "thumb down",
};

/** One row: the prompt, and what answers it side by side; of several answers the preferred one is marked. */
export const RowCard = memo(function RowCard({ row, number, diff = false }: RowCardProps) {
  const { prompt, answers, verdict, extra } = useMemo(() => readRow(row), [row]);
  const compared = useMemo(() => (diff ? compareAnswers(answers) : null), [diff, answers]);
  return (
    <>
      <div className={styles.prompt}>
        <span className={styles.number}>{number}</span>
        <div>
          {prompt.map((turn, index) => (
            <Said key={index} turn={turn} />
          ))}
        </div>
        {verdict && <span className={styles.verdict}>{VERDICTS[verdict]}</span>}
      </div>
      {answers.length > 0 && (
        <div className={styles.answers}>
          {answers.map((answer, index) => (
            <AnswerCell key={index} answer={answer} parts={compared?.parts[index] ?? null} />
          ))}
        </div>
      )}
      {(extra.length > 0 || compared?.tooLong) && (
        <p className={styles.extra}>
          {compared?.tooLong && <span>too long and too different to mark the differences</span>}
          {extra.map(([name, value]) => (
            <span key={name}>
              {name}: {value}
            </span>
          ))}
        </p>
      )}
    </>
  );
});

function AnswerCell({ answer, parts }: { answer: Answer; parts: readonly Part[] | null }) {
  return (
    <div className={answer.preferred ? styles.preferred : ""}>
      <p>
        {answer.name}
        {answer.preferred && <b>preferred</b>}
      </p>
      <LongText text={answer.text} parts={parts} />
    </div>
  );
}

function Said({ turn }: { turn: Turn }) {
  return (
    <div className={styles.said}>
      {turn.role && <b>{turn.role} </b>}
      <LongText text={turn.text} />
    </div>
  );
}

const LONG = 1200;

interface LongTextProps {
  text: string;
  /** The same text in parts, of which some are marked; null: none is. */
  parts?: readonly Part[] | null;
}

/** Text as it is stored, whitespace and all; folded when it is long. */
function LongText({ text, parts = null }: LongTextProps) {
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
