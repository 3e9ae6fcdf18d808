import { healthyText } from "@/charts/healthy";
import { Prose } from "@/components/text";
import type { Meaning } from "@/features/metric-charts/model/meanings";
import styles from "./charts.module.css";

/** Meaning, formula, unit and healthy range of metrics. */
export function NoteList({ notes }: { notes: readonly Meaning[] }) {
  return (
    <dl className={styles.notes}>
      {notes.map((note) => (
        <div key={note.name}>
          <dt>
            {note.label} <code>{note.name}</code>
          </dt>
          <dd>
            <Prose text={note.meaning} />
          </dd>
          <dd className={styles.formula}>
            <Prose text={note.formula} />
          </dd>
          {note.unit && <dd>Unit: {note.unit}.</dd>}
          {note.healthy && <dd>Healthy: {healthyText(note.healthy)}.</dd>}
          {note.advice && (
            <dd>
              <Prose text={note.advice} />
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}
