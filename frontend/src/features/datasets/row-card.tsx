import type { DatasetRow } from "@/api/types";
import styles from "@/features/datasets/datasets.module.css";
import { readRow, type Turn } from "@/features/datasets/read-row";

/** One row: the prompt, and what answers it; of two answers the preferred one is marked. */
export function RowCard({ row }: { row: DatasetRow }) {
  const { prompt, answers, tie, extra } = readRow(row.row);
  return (
    <li className={styles.row}>
      <div className={styles.prompt}>
        <span className={styles.line}>{row.line}</span>
        <div>
          {prompt.map((turn, index) => (
            <Said key={index} turn={turn} />
          ))}
        </div>
        {tie && <span className={styles.tie}>tie</span>}
      </div>
      {answers.length > 0 && (
        <div className={styles.answers}>
          {answers.map((answer, index) => (
            <div key={index} className={answer.preferred ? styles.preferred : ""}>
              <p>
                {answer.name}
                {answer.preferred && <b>preferred</b>}
              </p>
              <span className={styles.text}>{answer.text}</span>
            </div>
          ))}
        </div>
      )}
      {extra.length > 0 && (
        <p className={styles.extra}>
          {extra.map(([name, value]) => (
            <span key={name}>
              {name}: {value}
            </span>
          ))}
        </p>
      )}
    </li>
  );
}

function Said({ turn }: { turn: Turn }) {
  return (
    <p className={styles.text}>
      {turn.role && <b>{turn.role}: </b>}
      {turn.text}
    </p>
  );
}
