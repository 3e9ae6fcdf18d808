import { Button } from "@/components/button";
import { useListedKeys, useSingleKeys } from "@/lib/shortcuts";
import styles from "./completions.module.css";

const BY: Readonly<Record<string, number>> = { BracketLeft: -1, BracketRight: 1 };
const KEYS = {
  heading: "Completions of one step",
  rows: [["[ ]", "Show the earlier or the later step: the two keys beside P"]],
} as const;

/** The step in the address, and a way to change it. Null: the newest. */
interface StepChooser {
  readonly place: { readonly step: number | null };
  readonly choose: (change: { step: number | null; row: null }) => void;
}

interface StepPickerProps {
  steps: readonly number[];
  /** The step that is shown. */
  step: number;
  chooser: StepChooser;
  /** The things that are shown of a step. */
  things?: string;
}

export function StepPicker({ steps, step, chooser: { place, choose }, things = "completions" }: StepPickerProps) {
  const last = steps.length - 1;
  const index = steps.indexOf(step);
  const go = (to: number) => choose({ step: steps[Math.min(last, Math.max(0, to))] ?? null, row: null });
  useListedKeys(KEYS);
  useSingleKeys(BY, (by) => go(index + by));
  return (
    <div className={styles.picker}>
      <Button onClick={() => go(index - 1)} disabled={index <= 0} aria-label="Earlier step" title="Earlier step ([)">
        ←
      </Button>
      <input
        type="range"
        min={0}
        max={last}
        value={index}
        aria-label="Step"
        aria-valuetext={`step ${step}`}
        onChange={(event) => go(event.target.valueAsNumber)}
      />
      <Button onClick={() => go(index + 1)} disabled={index >= last} aria-label="Later step" title="Later step (])">
        →
      </Button>
      {/* A run that goes on would announce each of its steps. */}
      <output aria-live={place.step === null ? "off" : "polite"}>step {step}</output>
      {place.step !== null && place.step !== step && (
        <span>
          (step {place.step} logged no {things})
        </span>
      )}
      <label>
        <input
          type="checkbox"
          checked={place.step === null}
          onChange={(event) => choose({ step: event.target.checked ? null : step, row: null })}
        />
        follow the newest
      </label>
    </div>
  );
}
