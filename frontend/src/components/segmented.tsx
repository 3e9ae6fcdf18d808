import { useId } from "react";
import styles from "./segmented.module.css";

interface Props<Id extends string> {
  label: string;
  options: readonly { readonly id: Id; readonly label: string }[];
  value: Id;
  onChange: (id: Id) => void;
}

/** A choice of few, all of them in sight: radio buttons that look like one bar. */
export function Segmented<Id extends string>({ label, options, value, onChange }: Props<Id>) {
  const name = useId();
  return (
    <fieldset className={styles.bar}>
      <legend className="visually-hidden">{label}</legend>
      {options.map((option) => (
        <label key={option.id}>
          <input
            type="radio"
            className="visually-hidden"
            name={name}
            checked={option.id === value}
            onChange={() => onChange(option.id)}
          />
          {option.label}
        </label>
      ))}
    </fieldset>
  );
}
