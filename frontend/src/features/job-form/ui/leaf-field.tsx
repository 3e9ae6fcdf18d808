import { type ReactNode, useState } from "react";
import { Button } from "@/components/button";
import { InfoTip } from "@/components/popover";
import { Prose } from "@/components/text";
import { leafText, readLeaf, standardText } from "@/features/job-form/model/leaf";
import { problemsAt } from "@/features/job-form/model/problems";
import { firstSentence, type Leaf } from "@/features/job-form/model/schema";
import { type Json, same, valueAt } from "@/features/job-form/model/spec";
import { controlId, useForm } from "@/features/job-form/ui/form-context";
import styles from "./form.module.css";

/** One value with its name, its description, its problems, and the way back to its default. */
export function LeafField({ leaf }: { leaf: Leaf }) {
  const { spec, set, base, variations, vary } = useForm();
  const value = valueAt(spec, leaf.path);
  const variation = variations?.[leaf.path];
  const canVary = variations !== null && leaf.kind !== "json" && !/\.\d+\./.test(leaf.path);
  return (
    <Frame leaf={leaf} value={value} before={base ? valueAt(base, leaf.path) : undefined} compared={base !== null}>
      {variation !== undefined ? (
        <input
          id={controlId(leaf.path)}
          type="text"
          value={variation}
          placeholder={leaf.kind === "choice" ? leaf.choices.join(", ") : "1e-6, 1e-5 or 1e-6 to 1e-4 log"}
          onChange={(event) => vary(leaf.path, event.target.value)}
        />
      ) : (
        <Control leaf={leaf} value={value} onChange={(next) => set(leaf.path, next)} />
      )}
      {canVary && (
        <Button
          look="quiet"
          className={styles.small}
          aria-pressed={variation !== undefined}
          onClick={() => vary(leaf.path, variation === undefined ? leafText(leaf, value ?? leaf.standard) : undefined)}
        >
          {variation === undefined ? "Vary" : "Do not vary"}
          <span className="visually-hidden"> {leaf.path}</span>
        </Button>
      )}
    </Frame>
  );
}

interface FrameProps {
  leaf: Leaf;
  value: Json | undefined;
  before: Json | undefined;
  /** Whether the form shows changes from another job, in place of changes from the defaults. */
  compared: boolean;
  children: ReactNode;
}

function Frame({ leaf, value, before, compared, children }: FrameProps) {
  const { set, problems, variationProblems } = useForm();
  const own = problemsAt(problems, leaf.path);
  const fault = variationProblems[leaf.path];
  const isChanged = compared ? !same(value, before) : value !== undefined;
  const first = firstSentence(leaf.help);
  const id = controlId(leaf.path);
  return (
    <div
      className={`${styles.leaf} ${leaf.kind === "json" ? styles.wide : ""}`}
      data-changed={isChanged || undefined}
      data-path={leaf.path}
    >
      <div className={styles.head}>
        <label htmlFor={id}>{leaf.label}</label>
        <InfoTip label={`About ${leaf.path}`}>
          <p>
            <Prose text={leaf.help} />
          </p>
          <p>
            <code>{leaf.path}</code>. Default: {standardText(leaf)}
            {leaf.bounds && `; ${leaf.bounds}`}
            {leaf.words.length > 0 && `; or ${leaf.words.join(", ")}`}
            {leaf.nullable && "; none turns it off"}.
          </p>
        </InfoTip>
        {isChanged && (
          <Button look="quiet" className={styles.small} onClick={() => set(leaf.path, compared ? before : undefined)}>
            Reset<span className="visually-hidden"> {leaf.path}</span>
          </Button>
        )}
      </div>
      {children}
      {own.map((problem, index) => (
        <small key={index} className={styles[problem.severity]}>
          <Prose text={problem.advice ? `${problem.text} ${problem.advice}` : problem.text} />
        </small>
      ))}
      {fault && <small className={styles.blocking}>{fault}</small>}
      {compared && isChanged ? (
        <small>Before: {before === undefined ? `${standardText(leaf)} (default)` : leafText(leaf, before)}</small>
      ) : (
        own.length === 0 && (
          <small className={styles.help}>
            <Prose text={first} />
          </small>
        )
      )}
    </div>
  );
}

interface ControlProps {
  leaf: Leaf;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
}

function Control({ leaf, value, onChange }: ControlProps) {
  const id = controlId(leaf.path);
  if (leaf.kind === "boolean") {
    const isOn = (value ?? leaf.standard) === true;
    return (
      <label className={styles.check}>
        <input
          id={id}
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
        id={id}
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
  return <TextControl leaf={leaf} value={value} onChange={onChange} />;
}

/** A text that is read as a value. A text that cannot be read stays in the input with its fault, and changes nothing. */
function TextControl({ leaf, value, onChange }: ControlProps) {
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
    id: controlId(leaf.path),
    value: text,
    placeholder: standardText(leaf),
    spellCheck: false,
    autoComplete: "off",
    "aria-invalid": fault !== "",
  };
  return (
    <>
      {leaf.kind === "json" ? (
        <textarea rows={text.includes("\n") ? 8 : 2} {...props} onChange={(event) => change(event.target.value)} />
      ) : (
        <input type="text" {...props} onChange={(event) => change(event.target.value)} />
      )}
      {fault && (
        <small className={styles.blocking} role="alert">
          {fault}
        </small>
      )}
    </>
  );
}
