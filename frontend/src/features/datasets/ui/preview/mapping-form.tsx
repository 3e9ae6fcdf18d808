import { useId, useState } from "react";
import { Button } from "@/components/button";
import type { Side } from "@/features/datasets/model/labels";
import { type Draft, withField, withShape } from "@/features/datasets/model/mapping";
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
      {draft.fields.label && <LabelValues key={draft.fields.label} draft={draft} onChange={onChange} />}
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

const SIDES: readonly { id: Side; label: string }[] = [
  { id: "a", label: "A is better" },
  { id: "b", label: "B is better" },
  { id: "tie", label: "a tie" },
];

/** Sides of the label values. The form lists the values of the first records; the user adds others. */
function LabelValues({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
  const id = useId();
  const say = (value: string, side: Side | null) => onChange({ ...draft, labels: { ...draft.labels, [value]: side } });
  return (
    <fieldset className={styles.labels}>
      <legend>Meaning of its values</legend>
      {Object.entries(draft.labels).map(([value, side]) => (
        <div key={value} className={styles.field}>
          <label htmlFor={`${id}-${value}`}>
            <code>{value}</code>
          </label>
          <select
            id={`${id}-${value}`}
            value={side ?? ""}
            onChange={(event) => say(value, SIDES.find((one) => one.id === event.target.value)?.id ?? null)}
          >
            <option value="">not usable</option>
            {SIDES.map((one) => (
              <option key={one.id} value={one.id}>
                {one.label}
              </option>
            ))}
          </select>
        </div>
      ))}
      <AnotherValue onAdd={(value) => Object.hasOwn(draft.labels, value) || say(value, null)} />
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
