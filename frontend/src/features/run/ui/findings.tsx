import { Prose } from "@/components/text";
import { type Finding, findings, remarks } from "@/features/run/model/findings";
import type { JobEvent } from "@/lib/api/types";
import { count, measured } from "@/lib/format";
import { stageShort } from "@/lib/states";
import styles from "./findings.module.css";

/** Findings of the health rules with cause, evidence and remedy, and the run's warnings. */
export function Findings({ log }: { log: readonly JobEvent[] }) {
  const found = findings(log);
  const messages = remarks(log);
  if (!found.length && !messages.length) return null;
  return (
    <details className={styles.findings} open={found.length > 0 || undefined}>
      <summary>{title(found.length, messages.length)}</summary>
      <ul>
        {found.map((finding) => (
          <Rule key={finding.rule} finding={finding} />
        ))}
        {messages.map((remark) => (
          <li key={remark.text} className={styles[remark.level]}>
            <p className={styles.text}>
              <Prose text={remark.text} />
              {remark.times > 1 && <small> {remark.times} times</small>}
            </p>
          </li>
        ))}
      </ul>
    </details>
  );
}

function title(rules: number, warnings: number): string {
  const parts = [rules ? count(rules, "health finding") : "", warnings ? count(warnings, "warning") : ""];
  return parts.filter(Boolean).join(", ");
}

const DONE: Record<string, string> = {
  pause: "paused the run",
  stop: "stopped the run",
  roll_back: "went back to an earlier checkpoint",
};

function Rule({ finding }: { finding: Finding }) {
  const { rule, action, stage, step, cause, suggestion, evidence, times } = finding;
  return (
    <li className={action === "warn" ? styles.warning : styles.error}>
      <p className={styles.head}>
        <b>{rule}</b>
        <small>
          {stage && stageShort(stage)} step {step}
          {times > 1 && `, ${times} times so far`}
          {DONE[action] && `: ${DONE[action]}`}
        </small>
      </p>
      <p className={styles.text}>
        <Prose text={cause} />
      </p>
      {evidence.length > 0 && (
        <p className={styles.evidence}>
          {evidence.map((one, index) => (
            <span key={index}>
              <code>{one.metric}</code> {measured(one.value)} at step {one.step}
            </span>
          ))}
        </p>
      )}
      <p className={styles.text}>
        <Prose text={suggestion} />
      </p>
    </li>
  );
}
