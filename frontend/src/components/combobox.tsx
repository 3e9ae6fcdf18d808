import { Combobox as Primitive, ComboboxItem, ComboboxPopover, ComboboxProvider } from "@ariakit/react";
import { type FocusEvent, type KeyboardEvent, useState } from "react";
import styles from "./overlay.module.css";

export interface Option {
  readonly value: string;
  readonly label: string;
  /** Why it cannot be chosen; it is shown and skipped. */
  readonly blocked?: string | undefined;
}

interface ComboboxProps {
  /** Accessible name. A label element must not enclose the list, so it names nothing here. */
  label: string;
  options: readonly Option[];
  /** Label of the empty choice. Without it, the field needs a value. */
  none?: string | undefined;
  placeholder: string;
  /** Loads more options; null when all are loaded. */
  onMore?: (() => void) | null;
  /** Whether it takes the focus when it appears. */
  autoFocus?: boolean;
  value: string;
  onChange: (value: string) => void;
}

/** A list of options that typing filters. Text that matches no option is taken as a value, such as an id. */
export function Combobox({ label, options, none, placeholder, onMore = null, ...field }: ComboboxProps) {
  const { autoFocus = false, value, onChange } = field;
  /** Text being typed; null while the field shows its value. */
  const [typed, setTyped] = useState<string | null>(null);
  const choose = (chosen: string) => {
    setTyped(null);
    if (chosen !== value) onChange(chosen);
  };
  const commit = () => {
    if (typed === null) return;
    const isBlocked = options.some(({ label, value, blocked }) => blocked && [label, value].includes(typed.trim()));
    if (isBlocked) setTyped(null);
    else choose(valueOf(typed, options));
  };
  const shown = options.find((option) => option.value === value)?.label ?? value;
  const found = typed ? options.filter((option) => matches(option, typed)) : options;
  const onKeyDown = (event: KeyboardEvent) => {
    // With an option found, Enter chooses the marked one.
    if (event.key !== "Enter" || typed === null || found.length > 0) return;
    event.preventDefault();
    commit();
  };
  const onBlur = (event: FocusEvent) => {
    if (!event.relatedTarget?.closest("[role=listbox]")) commit();
  };
  return (
    <ComboboxProvider inputValue={typed ?? shown} setInputValue={setTyped} resetValueOnHide={false}>
      <Primitive
        type="text"
        autoFocus={autoFocus}
        className={styles.combobox}
        aria-label={label}
        placeholder={none ?? placeholder}
        autoSelect={found.length > 0 && Boolean(typed)}
        onBlur={onBlur}
        onKeyDown={onKeyDown}
      />
      <ComboboxPopover aria-label={label} sameWidth unmountOnHide gutter={4} className={styles.options}>
        {none !== undefined && !typed && <Item option={{ value: "", label: none }} value={value} onChoose={choose} />}
        {found.map((option) => (
          <Item key={option.value} option={option} value={value} onChoose={choose} />
        ))}
        {!found.length && <p className={styles.empty}>{typed ? `Use "${typed.trim()}"` : "No options"}</p>}
        {onMore && (
          <ComboboxItem className={styles.option} hideOnClick={false} setValueOnClick={false} onClick={onMore}>
            Show older ones
          </ComboboxItem>
        )}
      </ComboboxPopover>
    </ComboboxProvider>
  );
}

interface ItemProps {
  option: Option;
  value: string;
  onChoose: (value: string) => void;
}

function Item({ option, value, onChoose }: ItemProps) {
  return (
    <ComboboxItem
      className={styles.option}
      aria-selected={option.value === value}
      setValueOnClick={false}
      hideOnClick
      disabled={Boolean(option.blocked)}
      onClick={() => onChoose(option.value)}
    >
      {option.label}
      {option.blocked && <small>{option.blocked}</small>}
    </ComboboxItem>
  );
}

const matches = ({ value, label }: Option, text: string): boolean => {
  const wanted = text.trim().toLowerCase();
  return label.toLowerCase().includes(wanted) || value.startsWith(text.trim());
};

/** The option of that label, or the text itself. */
const valueOf = (text: string, options: readonly Option[]): string =>
  options.find(({ label }) => label === text.trim())?.value ?? text.trim();
