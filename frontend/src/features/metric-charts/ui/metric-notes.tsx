import { healthyText } from "@/charts/healthy";
import { InfoTip } from "@/components/popover";
import { Prose } from "@/components/text";
import type { Meaning } from "@/features/metric-charts/model/meanings";
import styles from "./charts.module.css";

/** A button that shows meaning, formula and healthy range of a chart's metrics. */
export function MetricNotes({ title, notes }: { title: string; notes: readonly Meaning[] }) {
  if (!notes.length) return null;
  return (
    <InfoTip label={`About: ${title}`}>
      <NoteList notes={notes} />
    </InfoTip>
  );
}

/** A component of its own: React makes the texts of a chart when its box is opened. */
function NoteList({ notes }: { notes: readonly Meaning[] }) {
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
