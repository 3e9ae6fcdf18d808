import { useId } from "react";
import type { UploadPreview } from "@/api/types";
import { kindLabel } from "@/features/datasets/kinds";
import { containerText } from "@/features/datasets/preview/container";
import styles from "@/features/datasets/preview/preview.module.css";

type Candidate = UploadPreview["candidates"][number];

interface Props {
  preview: UploadPreview;
  /** The format that counts now; null while nothing is chosen. */
  format: string | null;
  onChoose: (candidate: Candidate) => void;
  onMap: () => void;
}

/** What the file can be read as, best first, and why; the last way is to say it oneself. */
export function Readings({ preview, format, onChoose, onMap }: Props) {
  const name = useId();
  const { candidates, sure } = preview;
  const known = candidates.filter((candidate) => candidate.format !== "custom");
  return (
    <section className={styles.card} aria-label="What it was taken for">
      <h2>{heading(known.length, sure)}</h2>
      <p className={styles.note}>{containerText(preview)}</p>
      {preview.notes.map((note) => (
        <p key={note} className={styles.note}>
          {note}
        </p>
      ))}
      <fieldset className={styles.readings}>
        <legend className="visually-hidden">How to read it</legend>
        {known.map((candidate) => (
          <label key={`${candidate.format}/${candidate.kind}`}>
            <input
              type="radio"
              name={name}
              checked={candidate.format === format}
              onChange={() => onChoose(candidate)}
            />
            <span>
              <b>{candidate.title}</b> <i>{kindLabel(candidate.kind)}</i>
              <small>{candidate.why}</small>
            </span>
          </label>
        ))}
        <label>
          <input type="radio" name={name} checked={format === "custom"} onChange={onMap} />
          <span>
            <b>Say which column is what</b>
            <small>For columns that no known format has, or that mean something else here.</small>
          </span>
        </label>
      </fieldset>
    </section>
  );
}

function heading(candidates: number, sure: boolean): string {
  if (!candidates) return "None of the known formats";
  if (sure) return "Recognised";
  return candidates === 1 ? "Perhaps this" : `${candidates} ways to read it`;
}
