import { useQuery } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { Button } from "@/components/button";
import { Combobox } from "@/components/combobox";
import { Prose } from "@/components/text";
import { checkFields, useSuggestedColumns } from "@/features/jobs/api-fields";
import { conditionText, isFieldColumn, nameOfColumn, OPERATORS } from "@/features/jobs/model/fields";
import { metricReferenceQuery, useLabels } from "@/lib/labels";
import { labelOfAny } from "@/lib/metric-options";
import styles from "./field-picker.module.css";

/** A list of fields and metrics. Another name is checked by the server before it is taken. */
function FieldBox({ label, value, onChange }: { label: string; value: string; onChange: (id: string) => void }) {
  const labelOf = useLabels();
  const { data: reference = [] } = useQuery(metricReferenceQuery);
  const options = useSuggestedColumns().map((id) => {
    const name = nameOfColumn(id);
    const shown = id.startsWith("spec:") ? name : labelOfAny(reference, labelOf, name);
    return { value: id, label: shown === name ? name : `${shown} (${name})` };
  });
  const complete = (text: string) =>
    isFieldColumn(text) ? text : text.includes("/") ? `metric:${text}` : `spec:${text}`;
  return (
    <Combobox
      label={label}
      placeholder="Field or metric"
      options={options}
      value={value}
      onChange={(text) => onChange(text && complete(text))}
    />
  );
}

const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Adds a column of a field or metric. */
export function AddColumn({ onAdd }: { onAdd: (id: string) => void }) {
  const [fault, setFault] = useState<string | null>(null);
  const add = async (id: string) => {
    if (!id) return;
    try {
      await checkFields({ show: [id] });
      setFault(null);
      onAdd(id);
    } catch (error) {
      setFault(errorText(error));
    }
  };
  return (
    <div className={styles.add}>
      <FieldBox label="Add a column" value="" onChange={(id) => void add(id)} />
      {fault && (
        <p role="alert">
          <Prose text={fault} />
        </p>
      )}
    </div>
  );
}

/** Adds a condition on a field or metric to the filters. */
export function AddCondition({ onAdd }: { onAdd: (condition: string) => void }) {
  const [column, setColumn] = useState("");
  const [operator, setOperator] = useState<string>(">=");
  const [value, setValue] = useState("");
  const [fault, setFault] = useState<string | null>(null);
  const submit = async (event: SyntheticEvent) => {
    event.preventDefault();
    const condition = conditionText(column, operator, value);
    try {
      await checkFields({ where: [condition] });
      onAdd(condition);
    } catch (error) {
      setFault(errorText(error));
    }
  };
  return (
    <form className={styles.condition} onSubmit={(event) => void submit(event)}>
      <FieldBox label="Field or metric" value={column} onChange={setColumn} />
      <span>
        <select aria-label="Comparison" value={operator} onChange={({ target }) => setOperator(target.value)}>
          {OPERATORS.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <input
          type="text"
          aria-label="Value"
          placeholder="0.1, text or null"
          value={value}
          onChange={({ target }) => setValue(target.value)}
        />
        <Button type="submit" look="primary" disabled={!column || !value.trim()}>
          Add
        </Button>
      </span>
      {fault && (
        <p role="alert">
          <Prose text={fault} />
        </p>
      )}
    </form>
  );
}
