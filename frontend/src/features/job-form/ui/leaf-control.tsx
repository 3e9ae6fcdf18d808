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
  const isFaulty = problemsAt(problems, leaf.path).some(({ severity }) => severity === "blocking");
  const own: OwnProps = {
    id: controlId(leaf.path),
    "aria-describedby": notesId(leaf.path),
    "aria-invalid": isFaulty,
  };
  if (leaf.kind === "boolean") {
    const isOn = (value ?? leaf.standard) === true;
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
    const options = leaf.nullable ? ["none", ...leaf.choices] : leaf.choices;
    return (
      <select
        {...own}
        value={leafText(leaf, shown)}
        onChange={(event) => {
          const chosen = readLeaf(leaf, event.target.value);
          onChange(same(chosen, leaf.standard ?? null) ? undefined : chosen);
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

/** A text that is read as a value. A text that cannot be read stays in the input with its fault, and changes nothing. */
function TextControl({ leaf, value, onChange, own }: ControlProps & { own: OwnProps }) {
  const [text, setText] = useState(() => leafText(leaf, value));
  const [seen, setSeen] = useState(value);
  const [fault, setFault] = useState("");
  // Another part of the page has changed the value: a preset, an import or a reset.
  if (!same(seen, value)) {
    setSeen(value);
    setText(leafText(leaf, value));
    setFault("");
  }
  const change = (next: string) => {
    setText(next);
    try {
      const read = readLeaf(leaf, next);
      setFault("");
      setSeen(read);
      onChange(read);
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    }
  };
  const props = {
    ...own,
    value: text,
    placeholder: standardText(leaf),
    spellCheck: false,
    autoComplete: "off",
    "aria-describedby": fault ? `${own["aria-describedby"]} ${own.id}-fault` : own["aria-describedby"],
    "aria-invalid": fault !== "" || own["aria-invalid"],
  };
  return (
    <>
      {leaf.kind === "json" ? (
        <textarea rows={text.includes("\n") ? 8 : 2} {...props} onChange={(event) => change(event.target.value)} />
      ) : (
        <input type="text" {...props} onChange={(event) => change(event.target.value)} />
      )}
      {fault && (
        <small id={`${own.id}-fault`} className={styles.blocking} role="alert">
          {fault}
        </small>
      )}
    </>
  );
}
