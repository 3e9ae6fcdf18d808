import {
  Combobox,
  ComboboxGroup,
  ComboboxGroupLabel,
  ComboboxItem,
  ComboboxList,
  ComboboxProvider,
} from "@ariakit/react";
import styles from "./command-list.module.css";

export interface Command {
  readonly id: string;
  readonly label: string;
  /** Shown at the end of the line: a state, or the keys that do the same. */
  readonly hint?: string | undefined;
  readonly run: () => void;
}

export interface CommandGroup {
  readonly label: string;
  readonly commands: readonly Command[];
}

interface CommandListProps {
  label: string;
  placeholder: string;
  text: string;
  onText: (text: string) => void;
  groups: readonly CommandGroup[];
  /** Stands below the list, such as "Searching…". */
  status: string;
}

/** A field whose text filters a list of commands. The arrow keys move through them, Enter runs the marked one. */
export function CommandList({ label, placeholder, text, onText, groups, status }: CommandListProps) {
  return (
    <ComboboxProvider open inputValue={text} setInputValue={onText} focusLoop>
      <Combobox
        type="text"
        autoSelect="always"
        autoFocus
        className={styles.field}
        aria-label={label}
        placeholder={placeholder}
      />
      <ComboboxList className={styles.list} alwaysVisible aria-label={label}>
        {groups.map((group) => (
          <ComboboxGroup key={group.label}>
            <ComboboxGroupLabel className={styles.label}>{group.label}</ComboboxGroupLabel>
            {group.commands.map((command) => (
              <ComboboxItem
                key={command.id}
                className={styles.item}
                setValueOnClick={false}
                hideOnClick={false}
                onClick={command.run}
              >
                <span>{command.label}</span>
                {command.hint && <small>{command.hint}</small>}
              </ComboboxItem>
            ))}
          </ComboboxGroup>
        ))}
      </ComboboxList>
      <p role="status" className={styles.status}>
        {status}
      </p>
    </ComboboxProvider>
  );
}
