import type { ReactNode } from "react";
import { Button } from "@/components/button";
import { Card, Note } from "@/components/card";
import { Announce } from "@/components/status";
import { Table } from "@/components/table";
import { Prose } from "@/components/text";
import type { Validation } from "@/features/job-form/api";
import { Problems } from "@/features/job-form/ui/problem-list";
import type { Check } from "@/features/job-form/ui/use-check";
import { bytes, count, duration, measured, NO_VALUE, number } from "@/lib/format";
import { stageShort } from "@/lib/states";
import styles from "./form.module.css";

/** The live check of the spec: findings, memory, steps, tokens and time. */
export function CheckPanel({ check, children }: { check: Check; children: ReactNode }) {
  const { validation, isChecking, missing, unreadable, problems, error } = check;
  const headline = titleOf(check);
  const state = unreadable.length
    ? "problems"
    : isChecking
      ? "checking"
      : problems.length
        ? "problems"
        : missing.length || check.isCancelled
          ? "incomplete"
          : "ready";
  return (
    <aside className={styles.panel} id={PANEL_ID} tabIndex={-1} aria-label="Check of the job">
      <Card title={headline} data-state={state}>
        <Announce text={state === "checking" ? "" : headline} />
        {isChecking && validation?.progress && <Note>{validation.progress.note}</Note>}
        {isChecking && validation?.progress && <Button onClick={check.cancel}>Cancel the check</Button>}
        {check.isCancelled && <Button onClick={check.again}>Check again</Button>}
        {error && (
          <Note role="alert">
            <Prose text={error.message} />
          </Note>
        )}
        {validation?.error && !isChecking && <Note role="alert">{validation.error.message}</Note>}
        <Problems problems={problems} />
        {children}
      </Card>
      {validation?.result && (
        <div className={styles.result} data-stale={isChecking || undefined}>
          <Work validation={validation} />
          <Memory memory={validation.result.memory} />
        </div>
      )}
    </aside>
  );
}

const PANEL_ID = "check-of-the-job";

/** On a narrow screen, where the panel follows the form: the state of the check at the bottom of the screen. */
export function CheckBar({ check }: { check: Check }) {
  return (
    <div className={styles.dock}>
      <b>{titleOf(check)}</b>
      <Button
        onClick={() => {
          const panel = document.getElementById(PANEL_ID);
          panel?.scrollIntoView({ block: "start" });
          panel?.focus({ preventScroll: true });
        }}
      >
        Check and submit
      </Button>
    </div>
  );
}

function titleOf({ isChecking, missing, unreadable, problems, error, validation, isCancelled }: Check): string {
  if (unreadable.length) return `${count(unreadable.length, "field")} cannot be read`;
  if (missing.length)
    return `Choose ${missing.map(({ path }) => (path === "model.path" ? "a model" : "a dataset")).join(" and ")}`;
  if (isChecking) return "Checking…";
  if (error || validation?.error) return "The check failed";
  if (isCancelled) return "The check was cancelled";
  const blocking = problems.filter(({ severity }) => severity === "blocking").length;
  if (blocking) return count(blocking, "problem");
  return problems.length ? `Ready, with ${count(problems.length, "remark")}` : "Ready to submit";
}

function Work({ validation }: { validation: Validation }) {
  const { result, time } = validation;
  if (!result?.stages.length) return null;
  const times = new Map(time?.stages.map((stage) => [stage.stage, stage.seconds]));
  return (
    <Card title="Work">
      <Table label="Work of each stage" look="plain" head={["Stage", "Steps", "Tokens", "Time"]}>
        {result.stages.map((stage) => (
          <tr key={stage.stage}>
            <th scope="row">{stageShort(stage.stage)}</th>
            <td>{number(stage.steps)}</td>
            <td>{number(stage.tokens + stage.generated)}</td>
            <td>{duration(times.get(stage.stage))}</td>
          </tr>
        ))}
      </Table>
      <Note>
        {time?.seconds != null
          ? `About ${duration(time.seconds)} in all, ${measured(time.gpu_hours)} GPU-hours, by your earlier runs on ${time.device ?? "this machine"}.`
          : (time?.reason ?? NO_VALUE)}
      </Note>
      {result.model && (
        <Note>
          {number(result.model.parameters)} parameters, {number(result.model.trained_parameters)} of them trained, in{" "}
          {result.model.dtype}
        </Note>
      )}
    </Card>
  );
}

type MemoryReport = NonNullable<NonNullable<Validation["result"]>["memory"]>;

const PHASES: Record<string, string> = {
  ppo_rollout: "PPO, sampling",
  ppo_score: "PPO, scoring",
  ppo_update: "PPO, update",
};

/** A bar for each phase: the expected peak, and lighter up to the highest one, against what the device has. */
function Memory({ memory }: { memory: MemoryReport | null }) {
  if (!memory) return null;
  const { phases, runtime } = memory;
  const available = memory.available ?? null;
  const full = available ?? Math.max(...phases.map(({ high }) => high + runtime));
  return (
    <Card title="Memory">
      <ul className={styles.memory}>
        {phases.map((phase) => {
          const [expected, high] = [phase.expected + runtime, phase.high + runtime];
          const tone =
            available === null ? "" : expected > available ? styles.over : high > available ? styles.near : "";
          return (
            <li key={phase.phase}>
              <span>{PHASES[phase.phase] ?? stageShort(phase.phase)}</span>
              <span>{bytes(expected)}</span>
              <div
                className={`${styles.bar} ${tone}`}
                role="img"
                aria-label={`${bytes(expected)} expected, at most ${bytes(high)} of ${bytes(full)}`}
              >
                <i className={styles.high} style={{ width: `${share(high, full)}%` }} />
                <i className={styles.expected} style={{ width: `${share(expected, full)}%` }} />
              </div>
            </li>
          );
        })}
      </ul>
      <Note>
        {available === null
          ? "Peaks of each process. The memory of the worker is not known."
          : `Peaks of each process, of ${bytes(available)} ${memory.device === "cuda" ? "GPU memory" : "RAM"}.`}
      </Note>
      {memory.suggestions.map((one) => (
        <Note key={one.where}>
          <Prose
            text={`\`${one.change}\` lowers the peak to ${bytes(one.expected)}${one.fits ? ", which fits" : ""}.`}
          />
        </Note>
      ))}
    </Card>
  );
}

const share = (part: number, whole: number): number => Math.min(100, (100 * part) / Math.max(1, whole));
