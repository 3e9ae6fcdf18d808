import type { Meaning } from "@/features/run/ui/charts/use-meanings";
import { number } from "@/lib/format";
import styles from "./charts.module.css";

/** What a chart's metrics are, how they are computed, and when they look healthy. */
export function MetricNotes({ notes }: { notes: readonly Meaning[] }) {
  return (
    <dl className={styles.notes}>
      {notes.map((note) => (
        <div key={note.name}>
          <dt>
            {note.label} <code>{note.name}</code>
          </dt>
          <dd>{note.meaning}</dd>
          <dd className={styles.formula}>{note.formula}</dd>
          {note.healthy && <dd>Healthy: {range(note.healthy)}.</dd>}
          {note.advice && <dd>{note.advice}</dd>}
        </div>
      ))}
    </dl>
  );
}

function range([low, high]: NonNullable<Meaning["healthy"]>): string {
  if (low === null) return `at most ${number(high)}`;
  if (high === null) return `at least ${number(low)}`;
  return `${number(low)} to ${number(high)}`;
}
