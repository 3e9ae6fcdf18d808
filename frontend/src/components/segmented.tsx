import { useId } from "react";
import type { Choice } from "@/components/tabs";
import styles from "./choice.module.css";

interface SegmentedProps<Id extends string> {
  label: string;
  options: readonly Choice<Id>[];
  value: Id;
  onChange: (id: Id) => void;
}

/** Radio buttons in the form of one bar, for a few options. */
export function Segmented<Id extends string>({ label, options, value, onChange }: SegmentedProps<Id>) {
  const name = useId();
  return (
    <div role="radiogroup" className={styles.bar} aria-label={label}>
      {options.map(({ id, label: text }) => (
        <label key={id}>
          <input
            type="radio"
            className="visually-hidden"
            name={name}
            checked={id === value}
            onChange={() => onChange(id)}
          />
          {text}
        </label>
      ))}
    </div>
  );
}
