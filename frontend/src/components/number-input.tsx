import { useEffect, useRef } from "react";
import { numberFault, type NumberRules } from "@/lib/numbers";
import styles from "./number-input.module.css";

interface NumberInputProps {
  /** Id of the input, where the label is apart from it. */
  id?: string;
  /** The text as it was typed. */
  value: string;
  onChange: (text: string) => void;
  rules?: NumberRules;
  required?: boolean;
  disabled?: boolean;
  placeholder?: string;
}

/**
 * A number as text. Unlike an input of type `number`, it keeps a text that is no number, shows why, and stops the form that
 * it is in from being submitted. Outside of a form, `numberFault` has the same reason.
 */
export function NumberInput({ value, onChange, rules = {}, ...own }: NumberInputProps) {
  const input = useRef<HTMLInputElement>(null);
  const fault = own.disabled ? "" : numberFault(value, rules);
  useEffect(() => input.current?.setCustomValidity(fault), [fault]);
  return (
    <>
      <input
        {...own}
        ref={input}
        type="text"
        inputMode={rules.integer ? "numeric" : "decimal"}
        autoComplete="off"
        spellCheck={false}
        value={value}
        aria-invalid={fault !== ""}
        onChange={(event) => onChange(event.target.value)}
      />
      {fault && (
        <small className={styles.fault} role="alert">
          {fault}
        </small>
      )}
    </>
  );
}
