import type { ReactNode } from "react";
import { Button } from "@/components/button";
import { InfoTip } from "@/components/popover";
import { Prose } from "@/components/text";
import { leafText, standardText } from "@/features/job-form/model/leaf";
import { problemsAt } from "@/features/job-form/model/problems";
import { firstSentence, type Leaf } from "@/features/job-form/model/schema";
import { type Json, same, valueAt } from "@/features/job-form/model/spec";
import { controlId, notesId, useForm } from "@/features/job-form/ui/form-context";
import { variationText } from "@/features/job-form/model/sweep";
import { Control } from "@/features/job-form/ui/leaf-control";
import styles from "./form.module.css";

/** One value with its name, its description, its problems, and the way back to its default. */
export function LeafField({ leaf }: { leaf: Leaf }) {
  const { spec, set, base, variations, variationFaults, unreadable, vary } = useForm();
  const value = valueAt(spec, leaf.path);
  const variation = variations?.[leaf.path];
  const canVary = variations !== null && leaf.kind !== "json" && !/\.\d+\./.test(leaf.path);
  return (
    <Frame leaf={leaf} value={value} before={base ? valueAt(base, leaf.path) : undefined} compared={base !== null}>
      {variation !== undefined ? (
        <input
          id={controlId(leaf.path)}
          aria-describedby={notesId(leaf.path)}
          aria-invalid={variationFaults[leaf.path] !== undefined}
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
          onClick={() =>
            vary(
              leaf.path,
              variation === undefined
                ? (unreadable[leaf.path]?.text ?? variationText(leaf, value === undefined ? leaf.standard : value))
                : undefined,
            )
          }
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
  const { set, problems, unreadable } = useForm();
  const own = problemsAt(problems, leaf.path, true);
  const isChanged = leaf.path in unreadable || (compared ? !same(value, before) : value !== undefined);
  const isFaulty = own.some(({ severity }) => severity === "blocking");
  const first = firstSentence(leaf.help);
  const id = controlId(leaf.path);
  return (
    <div
      className={`${styles.leaf} ${leaf.kind === "json" ? styles.wide : ""}`}
      data-changed={(isChanged && !isFaulty) || undefined}
      data-faulty={isFaulty || undefined}
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
      <div id={notesId(leaf.path)} className={styles.notes}>
        {own.map((problem, index) => (
          <small
            key={index}
            className={styles[problem.severity]}
            role={problem.severity === "blocking" ? "alert" : undefined}
          >
            <Prose text={problem.advice ? `${problem.text} ${problem.advice}` : problem.text} />
          </small>
        ))}
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
    </div>
  );
}
