import { Combobox, ComboboxItem, ComboboxItemCheck, ComboboxList, ComboboxProvider } from "@ariakit/react";
import styles from "./command-list.module.css";

interface PickOption {
  readonly value: string;
  readonly label: string;
  /** Shown at the end of the line. */
  readonly hint: string;
}

interface PickListProps {
  label: string;
  placeholder: string;
  text: string;
  onText: (text: string) => void;
  /** The options that the text has found. */
  options: readonly PickOption[];
  chosen: readonly string[];
  onChosen: (chosen: readonly string[]) => void;
  /** How many options can be chosen. */
  most: number;
  /** Shown in place of an empty list. */
  none: string;
}

/** A field whose text filters a list of options. Enter and a click choose an option, or take the choice back. */
export function PickList({ label, placeholder, text, onText, options, chosen, onChosen, most, none }: PickListProps) {
  return (
    <ComboboxProvider
      open
      inputValue={text}
      setInputValue={onText}
      selectedValue={[...chosen]}
      setSelectedValue={(values: string[]) => onChosen(values.slice(0, most))}
    >
      <Combobox
        type="text"
        autoFocus
        autoSelect={Boolean(text)}
        className={styles.field}
        aria-label={label}
        placeholder={placeholder}
        // With nothing marked, Enter would send the form.
        onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
      />
      <ComboboxList className={styles.list} alwaysVisible aria-label={label}>
        {options.map((option) => (
          <ComboboxItem
            key={option.value}
            value={option.value}
            className={styles.item}
            setValueOnClick={false}
            hideOnClick={false}
            resetValueOnSelect={false}
            disabled={chosen.length >= most && !chosen.includes(option.value)}
          >
            <ComboboxItemCheck className={styles.check} />
            <span>{option.label}</span>
            {option.hint && <small>{option.hint}</small>}
          </ComboboxItem>
        ))}
      </ComboboxList>
      {!options.length && <p className={styles.status}>{none}</p>}
    </ComboboxProvider>
  );
}
