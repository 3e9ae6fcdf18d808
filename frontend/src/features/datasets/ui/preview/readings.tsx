import { useId } from "react";
import type { Reading } from "@/features/datasets/api/imports";
import { kindLabel } from "@/features/datasets/model/kinds";
import { containerText } from "@/features/datasets/ui/preview/container";
import { EncodingField } from "@/features/datasets/ui/preview/encoding-field";
import type { UploadPreview } from "@/lib/api/types";
import styles from "./preview.module.css";

type Candidate = UploadPreview["candidates"][number];

interface Props {
  preview: UploadPreview;
  /** The one that counts now; its format is null while nothing is chosen. */
  reading: Reading;
  onChoose: (candidate: Candidate) => void;
  onMap: () => void;
  encoding: string | null;
  onDecode: (encoding: string | null) => void;
}

/** What the file can be read as, best first, and why; the last way is to say it oneself. */
export function Readings({ preview, reading, onChoose, onMap, encoding, onDecode }: Props) {
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
              checked={isChosen(candidate, reading)}
              onChange={() => onChoose(candidate)}
            />
            <span>
              <b>{candidate.title}</b> <i>{kindLabel(candidate.kind)}</i>
              <small>{candidate.why}</small>
            </span>
          </label>
        ))}
        <label>
          <input type="radio" name={name} checked={reading.format === "custom"} onChange={onMap} />
          <span>
            <b>Say which column is what</b>
            <small>For columns that no known format has, or that mean something else here.</small>
          </span>
        </label>
      </fieldset>
      {preview.container !== "parquet" && <EncodingField encoding={encoding} onChange={onDecode} />}
    </section>
  );
}

/** A format may be read as several kinds, each a candidate of its own. */
const isChosen = (candidate: Candidate, { format, kind }: Reading): boolean =>
  candidate.format === format && candidate.kind === kind;

function heading(candidates: number, sure: boolean): string {
  if (!candidates) return "None of the known formats";
  if (sure) return "Recognised";
  return candidates === 1 ? "Perhaps this" : `${candidates} ways to read it`;
}
