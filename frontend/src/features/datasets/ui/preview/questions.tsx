import { Button } from "@/components/button";
import { Prose } from "@/components/text";
import type { UploadPreview } from "@/lib/api/types";
import styles from "./preview.module.css";

type Question = UploadPreview["questions"][number];
export type Choice = Question["choices"][number];

interface QuestionsProps {
  questions: readonly Question[];
  onChoose: (choice: Choice) => void;
}

/** Columns that look meaningful and that no row would use, with the possible answers. The import waits for them. */
export function Questions({ questions, onChoose }: QuestionsProps) {
  if (!questions.length) return null;
  return (
    <section className={`${styles.card} ${styles.questions}`} aria-label="Questions about columns">
      <h2>{questions.length === 1 ? "One question first" : `${questions.length} questions first`}</h2>
      {questions.map((question) => (
        <div key={question.column} className={styles.question} role="group" aria-label={question.column}>
          <p>
            <Prose text={question.detail} />
          </p>
          <ul>
            {question.choices.map((choice) => (
              <li key={choice.label}>
                <Button onClick={() => onChoose(choice)}>
                  <Prose text={choice.label} />
                </Button>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}

interface IgnoredProps {
  columns: readonly string[];
  onRestore: (column: string) => void;
}

/** The columns that the user ignores, each with a button that takes it back. */
export function Ignored({ columns, onRestore }: IgnoredProps) {
  if (!columns.length) return null;
  return (
    <section className={styles.card} aria-label="Ignored columns">
      <h2>Ignored columns</h2>
      <ul className={styles.ignored}>
        {columns.map((column) => (
          <li key={column}>
            <code>{column}</code>
            <Button look="quiet" onClick={() => onRestore(column)}>
              Use it<span className="visually-hidden"> again: {column}</span>
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
