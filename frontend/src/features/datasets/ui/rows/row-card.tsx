import { memo, type ReactNode, useMemo } from "react";
import { LongText } from "@/components/long-text";
import { type Answer, readRow, type Turn } from "@/features/datasets/model/rows";
import { compareAnswers, type Part } from "@/lib/text-diff";
import styles from "./rows.module.css";

interface RowCardProps {
  row: Readonly<Record<string, unknown>>;
  /** Content beside the prompt: the row's number as a link. */
  number: ReactNode;
  /** Marks where the answers differ. */
  diff?: boolean;
}

/** Characters of a text that are shown before it is unfolded. */
const LONG = 1200;

const VERDICTS = {
  tie: "tie",
  unlabelled: "not judged yet",
  "thumb up": "thumb up",
  "thumb down": "thumb down",
};

/** One row: the prompt, and what answers it side by side; of several answers the preferred one is marked. */
export const RowCard = memo(function RowCard({ row, number, diff = false }: RowCardProps) {
  const { prompt, answers, steps, verdict, extra } = useMemo(() => readRow(row), [row]);
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
      {steps.length > 0 && (
        <ol className={styles.steps} aria-label="Steps">
          {steps.map(({ text, label }, index) => (
            <li key={index} data-label={label}>
              <b>{label}</b> <LongText text={text} limit={LONG} />
            </li>
          ))}
        </ol>
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
      <LongText text={answer.text} parts={parts} limit={LONG} />
    </div>
  );
}

function Said({ turn }: { turn: Turn }) {
  return (
    <div className={styles.said}>
      {turn.role && <b>{turn.role} </b>}
      <LongText text={turn.text} limit={LONG} />
    </div>
  );
}
