import { useId, useState } from "react";
import { Button } from "@/components/button";
import type { Labels } from "@/features/datasets/model/labels";
import { type Draft, verdictColumn, withField, withShape } from "@/features/datasets/model/mapping";
import { type Field, SHAPES } from "@/features/datasets/model/shapes";
import type { UploadPreview } from "@/lib/api/types";
import styles from "./preview.module.css";

type Columns = UploadPreview["columns"];

interface MappingFormProps {
  draft: Draft;
  columns: Columns;
  onChange: (draft: Draft) => void;
}

/** Which column is what. The rows beside it follow every change. */
export function MappingForm({ draft, columns, onChange }: MappingFormProps) {
  const required = draft.shape.fields.filter((field) => field.required);
  const optional = draft.shape.fields.filter((field) => !field.required);
  const [hasNotes] = useState(optional.some((field) => draft.fields[field.name]));
  const judged = verdictColumn(draft);
  const row = (field: Field) => (
    <ColumnRow
      key={field.name}
      field={field}
      columns={columns}
      value={draft.fields[field.name] ?? ""}
      onChange={(column) => onChange(withField(draft, field.name, column, columns))}
    />
  );
  return (
    <section className={styles.card} aria-label="Columns">
      <label className={styles.shape}>
        Each record is
        <select
          value={draft.shape.id}
          onChange={(event) => {
            const shape = SHAPES.find((one) => one.id === event.target.value);
            if (shape) onChange(withShape(draft, shape, columns));
          }}
        >
          {SHAPES.map((shape) => (
            <option key={shape.id} value={shape.id}>
              {shape.label}
            </option>
          ))}
        </select>
      </label>
      {required.map(row)}
      {judged && (
        <LabelValues key={judged} draft={draft} values={valuesOf(judged, draft, columns)} onChange={onChange} />
      )}
      <details open={hasNotes || undefined}>
        <summary>Notes to keep</summary>
        {optional.map(row)}
      </details>
    </section>
  );
}

interface RowProps {
  field: Field;
  columns: Columns;
  value: string;
  onChange: (column: string) => void;
}

function ColumnRow({ field, columns, value, onChange }: RowProps) {
  const example = columns.find((column) => column.name === value)?.examples[0];
  const isListed = !value || columns.some((column) => column.name === value);
  const id = useId();
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{field.label}</label>
      <select id={id} value={value} required={field.required} onChange={(event) => onChange(event.target.value)}>
        <option value="">{field.required ? "Choose a column…" : "none"}</option>
        {!isListed && <option value={value}>{value}</option>}
        {columns.map((column) => (
          <option key={column.name} value={column.name}>
            {column.name}
          </option>
        ))}
      </select>
      {example && <small title={example}>{example}</small>}
    </div>
  );
}

interface Meaning {
  readonly id: NonNullable<Labels[string]>;
  readonly label: string;
}

const SIDES: readonly Meaning[] = [
  { id: "a", label: "A is better" },
  { id: "b", label: "B is better" },
  { id: "tie", label: "a tie" },
];
const THUMBS: readonly Meaning[] = [
  { id: "up", label: "good" },
  { id: "down", label: "bad" },
];
const LITERALLY = "literally";

/** The values of the verdict's column. Numbers of a score need no meaning. */
function valuesOf(column: string, draft: Draft, columns: Columns): string[] {
  const examples = columns.find((one) => one.name === column)?.examples ?? [];
  const found = [...new Set([...Object.keys(draft.labels), ...examples.map((text) => text.trim())])].filter(Boolean);
  const isScore = draft.shape.fields.some((field) => field.name === "score");
  return isScore ? found.filter((text) => text in draft.labels || Number.isNaN(Number(text))) : found;
}

interface LabelValuesProps {
  draft: Draft;
  values: readonly string[];
  onChange: (draft: Draft) => void;
}

/** Meanings of the verdict's values. The form lists the values of the first records; the user adds others. */
function LabelValues({ draft, values, onChange }: LabelValuesProps) {
  const id = useId();
  const isPair = "label" in draft.fields && draft.shape.fields.some((field) => field.name === "label");
  const meanings = isPair ? SIDES : THUMBS;
  const say = (value: string, chosen: string) => {
    const others = Object.entries(draft.labels).filter(([known]) => known !== value);
    const meaning = meanings.find((one) => one.id === chosen)?.id ?? null;
    const labels = Object.fromEntries(chosen === LITERALLY ? others : [...others, [value, meaning]]) as Labels;
    onChange({ ...draft, labels });
  };
  const shown = (value: string): string => {
    if (!isPair && !(value in draft.labels)) return LITERALLY;
    return String(draft.labels[value] ?? "");
  };
  if (!values.length && !isPair) return null;
  return (
    <fieldset className={styles.labels}>
      <legend>Meaning of its values</legend>
      {values.map((value) => (
        <div key={value} className={styles.field}>
          <label htmlFor={`${id}-${value}`}>
            <code>{value}</code>
          </label>
          <select id={`${id}-${value}`} value={shown(value)} onChange={(event) => say(value, event.target.value)}>
            {!isPair && <option value={LITERALLY}>as the word means</option>}
            <option value="">not usable</option>
            {meanings.map((one) => (
              <option key={one.id} value={one.id}>
                {one.label}
              </option>
            ))}
          </select>
        </div>
      ))}
      <AnotherValue onAdd={(value) => Object.hasOwn(draft.labels, value) || say(value, "")} />
    </fieldset>
  );
}

function AnotherValue({ onAdd }: { onAdd: (value: string) => void }) {
  const [text, setText] = useState("");
  const id = useId();
  const value = text.trim();
  const add = () => {
    if (!value) return;
    onAdd(value);
    setText("");
  };
  return (
    <div className={styles.field}>
      <label htmlFor={id}>Another value</label>
      <div className={styles.another}>
        <input
          id={id}
          type="text"
          spellCheck={false}
          autoCapitalize="off"
          placeholder="further down in the file"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => event.key === "Enter" && add()}
        />
        <Button onClick={add} disabled={!value}>
          Add
        </Button>
      </div>
    </div>
  );
}
