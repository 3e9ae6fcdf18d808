import { useEffect, useRef } from "react";
import { showChosen } from "@/components/tabs";
import type { StageState, StageView } from "@/features/run/model/stages";
import { duration } from "@/lib/format";
import { type Stage, stageLabel, stageShort } from "@/lib/states";
import { visible } from "@/lib/visible";
import styles from "./stage-stepper.module.css";

interface Props {
  stages: readonly StageView[];
  /** The headline figures of the stage at an index. */
  figuresOf: (index: number) => readonly { readonly label: string; readonly value: string; readonly rest?: string }[];
  chosen: Stage;
  onChoose: (stage: Stage) => void;
}

const STATES: Record<StageState, string> = {
  waiting: "waiting",
  active: "running",
  paused: "paused",
  done: "done",
  stopped: "stopped",
  unreached: "not reached",
};

const timeOf = ({ seconds, state }: StageView): string => (seconds === null ? STATES[state] : duration(seconds));

/** The stages in order, with their times and headline figures; choosing one shows its metrics and completions. */
export function StageStepper({ stages, figuresOf, chosen, onChoose }: Props) {
  const row = useRef<HTMLOListElement>(null);
  useEffect(() => {
    const frame = requestAnimationFrame(() => showChosen(row.current, "[aria-pressed=true]"));
    return () => cancelAnimationFrame(frame);
  }, [chosen]);
  return (
    <ol ref={row} className={styles.stages} aria-label="Stages">
      {stages.map((view, index) => (
        <li key={view.stage} className={styles[view.state]}>
          <button type="button" aria-pressed={view.stage === chosen} onClick={() => onChoose(view.stage)}>
            <span className={styles.head}>
              <i aria-hidden />
              <b title={stageLabel(view.stage)}>{stageShort(view.stage)}</b>
              <small>{timeOf(view)}</small>
            </span>
            <span className={styles.figures}>
              {view.from && <small className={styles.from}>from {visible(view.from.name) || "the parent"}</small>}
              {figuresOf(index).map((figure) => (
                <span key={figure.label}>
                  <small>{figure.label}</small> {figure.value}{" "}
                  {figure.rest && <small className={styles.rest}>{figure.rest}</small>}
                </span>
              ))}
            </span>
          </button>
        </li>
      ))}
    </ol>
  );
}
