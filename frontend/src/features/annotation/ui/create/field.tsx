import { type ReactNode, useEffect, useId, useRef } from "react";
import type { Draft, Problems } from "@/features/annotation/model/draft";
import styles from "./create.module.css";

export interface FieldsProps {
  draft: Draft;
  /** Shown once the person has tried to send the form. */
  problems: Problems;
  onChange: (change: Partial<Draft>) => void;
}

interface Props {
  label: string;
  note?: ReactNode;
  problem?: string | undefined;
  wide?: boolean;
  /** Whether the controls have names of their own, so that no label element encloses them. */
  named?: boolean;
  children: ReactNode;
}

/** One field with its name, what it means, and what is wrong with it. */
export function Field({ label, note, problem, wide = false, named = false, children }: Props) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const text = problem ?? note;
  const Label = named ? "div" : "label";
  useEffect(() => {
    // A control lies anywhere in the children, which know nothing of the text below them.
    for (const control of box.current?.querySelectorAll("input, select, textarea") ?? []) {
      if (text) control.setAttribute("aria-describedby", id);
      else control.removeAttribute("aria-describedby");
      control.setAttribute("aria-invalid", String(Boolean(problem)));
    }
  });
  return (
    <div ref={box} className={`${styles.field} ${wide ? styles.wide : ""}`} data-problem={problem ? true : undefined}>
      <Label className={styles.label}>
        <span>{label}</span>
        {children}
      </Label>
      {text && (
        <small id={id} className={problem ? styles.problem : ""}>
          {text}
        </small>
      )}
    </div>
  );
}
