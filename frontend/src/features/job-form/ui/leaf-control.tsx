import { useState } from "react";
import { leafText, readLeaf, standardText } from "@/features/job-form/model/leaf";
import { problemsAt } from "@/features/job-form/model/problems";
import type { Leaf } from "@/features/job-form/model/schema";
import { type Json, same } from "@/features/job-form/model/spec";
import { controlId, notesId, useForm } from "@/features/job-form/ui/form-context";
import styles from "./form.module.css";

interface ControlProps {
  leaf: Leaf;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
}

interface OwnProps {
  id: string;
  "aria-describedby": string;
  "aria-invalid": boolean;
}

/** The control of one value: a check box, a choice or a text. */
export function Control({ leaf, value, onChange }: ControlProps) {
  const { problems } = useForm();
  const isFaulty = problemsAt(problems, leaf.path, true).some(({ severity }) => severity === "blocking");
  const own: OwnProps = {
    id: controlId(leaf.path),
    "aria-describedby": notesId(leaf.path),
    "aria-invalid": isFaulty,
  };
  const truth = value ?? leaf.standard;
  if (leaf.kind === "boolean" && (truth === undefined || typeof truth === "boolean")) {
    const isOn = truth === true;
    return (
      <label className={styles.check}>
        <input
          {...own}
          type="checkbox"
          checked={isOn}
          onChange={(event) => onChange(event.target.checked === leaf.standard ? undefined : event.target.checked)}
        />
        {isOn ? "on" : "off"}
      </label>
    );
  }
  if (leaf.kind === "choice") {
    const shown = value ?? leaf.standard ?? null;
    const usual = leaf.nullable ? ["none", ...leaf.choices] : leaf.choices;
    const chosen = leafText(leaf, shown);
    // A value of an import that the field does not have is shown, for the server to refuse.
    const options = usual.includes(chosen) ? usual : [chosen, ...usual];
    return (
      <select
        {...own}
        value={chosen}
        onChange={(event) => {
          if (!usual.includes(event.target.value)) return;
          const next = readLeaf(leaf, event.target.value);
          onChange(same(next, leaf.standard ?? null) ? undefined : next);
        }}
      >
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    );
  }
  return <TextControl leaf={leaf} value={value} onChange={onChange} own={own} />;
}

/**
 * A text that is read as a value. A text that cannot be read stays in the state of the form with its fault, and blocks the
 * submission. A readable one is kept here as it was typed, as long as the field has its value.
 */
function TextControl({ leaf, value, onChange, own }: ControlProps & { own: OwnProps }) {
  const { unreadable, keepText } = useForm();
  const [typed, setTyped] = useState({ text: leafText(leaf, value), value });
  const kept = unreadable[leaf.path];
  const text = kept?.text ?? (same(typed.value, value) ? typed.text : leafText(leaf, value));
  const change = (next: string) => {
    try {
      const read = readLeaf(leaf, next);
      setTyped({ text: next, value: read });
      onChange(read);
    } catch (error) {
      keepText(leaf.path, { text: next, fault: error instanceof Error ? error.message : String(error) });
    }
  };
  const props = {
    ...own,
    value: text,
    placeholder: standardText(leaf),
    spellCheck: false,
    autoComplete: "off",
  };
  return leaf.kind === "json" ? (
    <textarea rows={text.includes("\n") ? 8 : 2} {...props} onChange={(event) => change(event.target.value)} />
  ) : (
    <input type="text" {...props} onChange={(event) => change(event.target.value)} />
  );
}
