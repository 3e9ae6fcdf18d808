import { useState } from "react";
import styles from "@/features/annotation/ui/create/create.module.css";

interface Props {
  /** Its name, where no label around it says it. */
  label?: string;
  options: readonly { readonly value: string; readonly label: string }[];
  /** What an empty choice means; without it, one must be chosen. */
  none?: string | undefined;
  placeholder: string;
  /** Brings older ones, where there are some. */
  onMore?: (() => void) | null;
  value: string;
  onChange: (value: string) => void;
}

const TYPED = "(typed)";
export const MORE = "(more)";

/** A list to choose from; what it does not hold is typed. */
export function SelectOrType({ label, options, none, placeholder, onMore = null, value, onChange }: Props) {
  const [typing, setTyping] = useState(false);
  const listed = value === "" || options.some((option) => option.value === value);
  const choose = (chosen: string) => {
    if (chosen === MORE) {
      onMore?.();
      return;
    }
    setTyping(chosen === TYPED);
    onChange(chosen === TYPED ? "" : chosen);
  };
  const typed = typing || !listed;
  return (
    <span className={styles.pick}>
      <select aria-label={label} value={typed ? TYPED : value} onChange={(event) => choose(event.target.value)}>
        <option value="" disabled={none === undefined}>
          {none ?? "Choose…"}
        </option>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
        {onMore && <option value={MORE}>Show older ones…</option>}
        <option value={TYPED}>Another one, by its id…</option>
      </select>
      {typed && (
        <input
          type="text"
          aria-label="Its id"
          placeholder={placeholder}
          autoFocus={typing}
          value={value}
          onChange={(event) => onChange(event.target.value.trim())}
        />
      )}
    </span>
  );
}
