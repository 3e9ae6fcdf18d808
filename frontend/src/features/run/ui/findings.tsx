import { Suspense } from "react";
import { Popover } from "@/components/popover";
import { Announce } from "@/components/status";
import { Prose } from "@/components/text";
import { FindingAction } from "@/features/job-actions/ui";
import { announcement, type Finding, findings, metricsOf, type Remark, remarks } from "@/features/run/model/findings";
import type { JobEvent, JobSummary } from "@/lib/api/types";
import { useParameter } from "@/lib/address";
import { count, measured } from "@/lib/format";
import { useLabels, withLabels } from "@/lib/labels";
import { stageShort } from "@/lib/states";
import { visible } from "@/lib/visible";
import styles from "./findings.module.css";

interface FindingsProps {
  job: JobSummary;
  log: readonly JobEvent[];
  /** Whether the log is complete; before, no health is known. */
  loaded: boolean;
}

/** The run's health in one line. It opens the findings of the health rules and the run's warnings. */
export function Findings({ job, log, loaded }: FindingsProps) {
  const found = findings(log);
  const messages = remarks(log);
  return (
    <>
      <Announce text={announcement(found, messages)} />
      <Health job={job} found={found} messages={messages} loaded={loaded} />
    </>
  );
}

interface HealthProps {
  job: JobSummary;
  found: readonly Finding[];
  messages: readonly Remark[];
  loaded: boolean;
}

function Health({ job, found, messages, loaded }: HealthProps) {
  const [wanted, setWanted] = useParameter("health");
  if (!found.length && !messages.length) return <p className={styles.none}>{loaded && "No health findings"}</p>;
  const worst = found.some(({ action }) => action !== "warn") || messages.some(({ level }) => level === "error");
  const newest = found[0];
  return (
    <Popover
      wide
      className={`${styles.line} ${worst ? styles.isError : ""}`}
      label="Health of the run"
      isOpen={wanted === "open"}
      onOpen={(open) => !open && wanted !== null && setWanted(null)}
      button={
        <>
          <b>{title(found.length, messages.length)}</b>
          <span>
            {newest
              ? `${newest.title} at step ${newest.step}${newest.seed === null ? "" : ` of seed ${newest.seed}`}`
              : visible(messages[0]?.text ?? "")}
          </span>
        </>
      }
    >
      <ul className={styles.findings}>
        {found.map((finding) => (
          <Rule key={`${finding.seed} ${finding.rule}`} job={job} finding={finding} />
        ))}
        {messages.map((remark) => (
          <Message key={remark.text} remark={remark} />
        ))}
      </ul>
    </Popover>
  );
}

function title(rules: number, warnings: number): string {
  const parts = [rules ? count(rules, "health finding") : "", warnings ? count(warnings, "warning") : ""];
  return parts.filter(Boolean).join(", ");
}

function Message({ remark }: { remark: Remark }) {
  return (
    <li className={styles[remark.level]}>
      <p className={styles.text}>
        <Prose text={remark.text} />
        {remark.times > 1 && <small> {remark.times} times</small>}
      </p>
    </li>
  );
}

/** Only the newest measurements of a finding are shown. */
const MOST_EVIDENCE = 4;

const DONE: Record<string, string> = {
  pause: "paused the run",
  stop: "stopped the run",
  roll_back: "went back to an earlier checkpoint",
};

function Rule({ job, finding }: { job: JobSummary; finding: Finding }) {
  const { title: what, rule, seed, action, stage, step, cause, suggestion, changes, evidence, times } = finding;
  const labelOf = useLabels();
  const metrics = metricsOf(evidence);
  return (
    <li className={action === "warn" ? styles.warning : styles.error}>
      <p className={styles.head}>
        <b title={`Health rule ${rule}`}>{what}</b>
        <small>
          {seed !== null && `Seed ${seed}, `}
          {stage && stageShort(stage)} step {step}
          {times > 1 && `, ${times} times so far`}
          {DONE[action] && `: ${DONE[action]}`}
        </small>
      </p>
      <p className={styles.text} title={metrics || undefined}>
        <Prose text={withLabels(cause, stage, labelOf)} />
      </p>
      {evidence.length > 0 && (
        <p className={styles.evidence}>
          {evidence.slice(-MOST_EVIDENCE).map((one, index) => (
            <span key={index}>
              <b title={one.metric}>{labelOf(stage, one.metric)}</b> {measured(one.value)} at step {one.step}
            </span>
          ))}
        </p>
      )}
      <p className={styles.text}>
        <Prose text={withLabels(suggestion, stage, labelOf)} />
      </p>
      <Suspense fallback={null}>
        <FindingAction job={job} changes={changes} />
      </Suspense>
    </li>
  );
}
