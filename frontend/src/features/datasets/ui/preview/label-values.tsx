import { useId, useState } from "react";
import { Button } from "@/components/button";
import type { Side } from "@/features/datasets/model/labels";
import type { Draft } from "@/features/datasets/model/mapping";
import styles from "./preview.module.css";

const SIDES: readonly { id: Side; label: string }[] = [
  { id: "a", label: "A is better" },
  { id: "b", label: "B is better" },
  { id: "tie", label: "a tie" },
];

/** What each value of the label means. Only those of the first records are known; others are named by hand. */
export function LabelValues({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
  const id = useId();
  const say = (value: string, side: Side | null) => onChange({ ...draft, labels: { ...draft.labels, [value]: side } });
  return (
    <fieldset className={styles.labels}>
      <legend>What its values mean</legend>
      {Object.entries(draft.labels).map(([value, side]) => (
        <div key={value} className={styles.field}>
          <label htmlFor={`${id}-${value}`}>
            <code>{value}</code>
          </label>
          <select
            id={`${id}-${value}`}
            value={side ?? ""}
            onChange={(event) => say(value, SIDES.find((one) => one.id === event.target.value)?.id ?? null)}
          >
            <option value="">not usable</option>
            {SIDES.map((one) => (
              <option key={one.id} value={one.id}>
                {one.label}
              </option>
            ))}
          </select>
        </div>
      ))}
      <AnotherValue onAdd={(value) => Object.hasOwn(draft.labels, value) || say(value, null)} />
    </fieldset>
  );
}

function AnotherValue({ onAdd }: { onAdd: (value: string) => void }) {
  const [text, setText] = useState("");
  const id = useId();
  const value = text.trim();
  const add = () => {
    if (!value) return;
    onAdd(value);
    setText("");
  };
  return (
    <div className={styles.field}>
      <label htmlFor={id}>Another value</label>
      <div className={styles.another}>
        <input
          id={id}
          type="text"
          spellCheck={false}
          autoCapitalize="off"
          placeholder="further down in the file"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => event.key === "Enter" && add()}
        />
        <Button onClick={add} disabled={!value}>
          Add
        </Button>
      </div>
    </div>
  );
}
