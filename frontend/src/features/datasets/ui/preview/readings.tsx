import { useId } from "react";
import type { Reading } from "@/features/datasets/api/imports";
import { kindLabel } from "@/features/datasets/model/kinds";
import type { UploadPreview } from "@/lib/api/types";
import styles from "./preview.module.css";

type Candidate = UploadPreview["candidates"][number];

interface ReadingsProps {
  preview: UploadPreview;
  /** The one that counts now; its format is null while nothing is chosen. */
  reading: Reading;
  onChoose: (candidate: Candidate) => void;
  onMap: () => void;
  encoding: string | null;
  onDecode: (encoding: string | null) => void;
}

/** The possible readings of the file with their reasons, best first. The last one is a mapping by the user. */
export function Readings({ preview, reading, onChoose, onMap, encoding, onDecode }: ReadingsProps) {
  const name = useId();
  const { candidates, sure } = preview;
  const known = candidates.filter((candidate) => candidate.format !== "custom");
  return (
    <section className={styles.card} aria-label="Detected format">
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
            <b>Map columns to fields</b>
            <small>For columns of no known format, or with another meaning.</small>
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

const CONTAINERS: Record<string, string> = {
  jsonl: "JSON Lines",
  json: "A JSON document",
  csv: "A table as text (CSV)",
  parquet: "Parquet",
};
const COMPRESSIONS: Record<string, string> = { gzip: ", compressed by gzip", zstd: ", compressed by zstd" };
const MOST = 8;

/** A sentence with the kind of file and its columns. */
function containerText({ container, compression, columns }: UploadPreview): string {
  const names = columns.slice(0, MOST).map((column) => column.name);
  const more = columns.length - names.length;
  const listed = names.length ? ` with ${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}` : "";
  return `${CONTAINERS[container] ?? container}${COMPRESSIONS[compression] ?? ""}${listed}.`;
}

/** The usual encodings besides UTF-8, by the platform's names. */
const ENCODINGS: readonly (readonly [string, string])[] = [
  ["cp1252", "Windows-1252 (Western European)"],
  ["iso8859-1", "ISO 8859-1 (Western European)"],
  ["iso8859-15", "ISO 8859-15 (Western European)"],
  ["cp437", "DOS (Western European)"],
  ["mac-roman", "Mac (Western European)"],
  ["cp1250", "Windows-1250 (Central European)"],
  ["iso8859-2", "ISO 8859-2 (Central European)"],
  ["cp1251", "Windows-1251 (Cyrillic)"],
  ["koi8-r", "KOI8-R (Cyrillic)"],
  ["cp1253", "Windows-1253 (Greek)"],
  ["cp1254", "Windows-1254 (Turkish)"],
  ["cp1255", "Windows-1255 (Hebrew)"],
  ["cp1256", "Windows-1256 (Arabic)"],
  ["gb18030", "GB 18030 (Chinese, simplified)"],
  ["big5", "Big5 (Chinese, traditional)"],
  ["cp932", "Shift JIS, cp932 (Japanese)"],
  ["euc_jp", "EUC-JP (Japanese)"],
  ["cp949", "cp949 (Korean)"],
  ["utf-16-le", "UTF-16, little-endian"],
  ["utf-16-be", "UTF-16, big-endian"],
];

interface EncodingFieldProps {
  /** Null: as it is detected. */
  encoding: string | null;
  onChange: (encoding: string | null) => void;
}

/** The encoding of the file's text, where the platform does not find it by itself. */
export function EncodingField({ encoding, onChange }: EncodingFieldProps) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label htmlFor={id}>Text encoding</label>
      <select id={id} value={encoding ?? ""} onChange={(event) => onChange(event.target.value || null)}>
        <option value="">UTF-8, or as detected</option>
        {ENCODINGS.map(([name, label]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
    </div>
  );
}
