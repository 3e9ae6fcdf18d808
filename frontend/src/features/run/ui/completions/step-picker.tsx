import { Button } from "@/components/button";
import styles from "./completions.module.css";

interface Props {
  steps: readonly number[];
  /** Null follows the newest. */
  chosen: number | null;
  onChoose: (step: number | null) => void;
}

export function StepPicker({ steps, chosen, onChoose }: Props) {
  const last = steps.length - 1;
  const index = chosen === null ? last : Math.max(0, steps.indexOf(chosen));
  const go = (to: number) => onChoose(steps[Math.min(last, Math.max(0, to))] ?? null);
  return (
    <div className={styles.picker}>
      <Button onClick={() => go(index - 1)} disabled={index <= 0} aria-label="Earlier step">
        ←
      </Button>
      <input
        type="range"
        min={0}
        max={last}
        value={index}
        aria-label="Step"
        aria-valuetext={`step ${steps[index]}`}
        onChange={(event) => go(event.target.valueAsNumber)}
      />
      <Button onClick={() => go(index + 1)} disabled={index >= last} aria-label="Later step">
        →
      </Button>
      <output>step {steps[index]}</output>
      <label>
        <input
          type="checkbox"
          checked={chosen === null}
          onChange={(event) => onChoose(event.target.checked ? null : (steps[index] ?? null))}
        />
        follow the newest
      </label>
    </div>
  );
}
