import { Radio, RadioGroup, RadioProvider } from "@ariakit/react";
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
  const choose = (id: string | number | null) => {
    const chosen = options.find((option) => option.id === id);
    if (chosen && chosen.id !== value) onChange(chosen.id);
  };
  return (
    <RadioProvider value={value} setValue={choose}>
      <RadioGroup className={styles.bar} aria-label={label}>
        {options.map((option) => (
          <label key={option.id}>
            <Radio className="visually-hidden" value={option.id} />
            {option.label}
          </label>
        ))}
      </RadioGroup>
    </RadioProvider>
  );
}
