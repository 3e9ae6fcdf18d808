import { useId, useState } from "react";
import { type Draft, withField, withShape } from "@/features/datasets/model/mapping";
import { type Field, SHAPES } from "@/features/datasets/model/shapes";
import { LabelValues } from "@/features/datasets/ui/preview/label-values";
import type { UploadPreview } from "@/lib/api/types";
import styles from "./preview.module.css";

type Columns = UploadPreview["columns"];

interface Props {
  draft: Draft;
  columns: Columns;
  onChange: (draft: Draft) => void;
}

/** Which column is what. The rows beside it follow every change. */
export function MappingForm({ draft, columns, onChange }: Props) {
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
