import { Suspense } from "react";
import { Prose } from "@/components/text";
import { FindingAction } from "@/features/job-actions/ui";
import { type Finding, metricsOf, type Remark } from "@/features/run/model/findings";
import type { JobSummary } from "@/lib/api/types";
import { measured } from "@/lib/format";
import { useLabels, withLabels } from "@/lib/labels";
import { stageShort } from "@/lib/states";
import styles from "./findings.module.css";

interface FindingListProps {
  job: JobSummary;
  found: readonly Finding[];
  messages: readonly Remark[];
}

/** The findings of the health rules, each with what can be done, and the run's warnings. */
export const FindingList = ({ job, found, messages }: FindingListProps) => (
  <ul className={styles.findings}>
    {found.map((finding) => (
      <Rule key={`${finding.seed} ${finding.rule}`} job={job} finding={finding} />
    ))}
    {messages.map((remark) => (
      <Message key={remark.text} remark={remark} />
    ))}
  </ul>
);

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
