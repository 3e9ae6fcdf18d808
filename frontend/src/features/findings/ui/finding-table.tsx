import { Button } from "@/components/button";
import { StatusBadge } from "@/components/status";
import { RowLink, Table } from "@/components/table";
import { Prose, TimeAgo } from "@/components/text";
import type { HealthFinding } from "@/features/findings/api";
import { paths } from "@/lib/address";
import { jobName } from "@/lib/names";
import { useLabels, withLabels } from "@/lib/labels";
import { stageShort } from "@/lib/states";
import styles from "./findings-page.module.css";

interface FindingTableProps {
  findings: readonly HealthFinding[];
  /** Shows the findings of one job. */
  onJob: (job: string) => void;
}

export function FindingTable({ findings, onJob }: FindingTableProps) {
  return (
    <Table label="Findings" className={styles.table} head={["Severity", "Finding", "Job", "Where", "Reported"]}>
      {findings.map((finding) => (
        <Row key={finding.id} finding={finding} onJob={onJob} />
      ))}
    </Table>
  );
}

function Row({ finding, onJob }: { finding: HealthFinding; onJob: (job: string) => void }) {
  const labelOf = useLabels();
  const { severity, title, stage, cause, suggestion, job_id, job_status, last_at } = finding;
  const name = jobName({ name: finding.job_name });
  return (
    <tr>
      <td className={styles.severity}>
        <StatusBadge status={severity} />
      </td>
      <th scope="row" className={styles.finding}>
        <RowLink to={paths.jobHealth(job_id)}>{title}</RowLink>
        <p>
          <Prose text={withLabels(cause, stage, labelOf)} />
        </p>
        {suggestion && (
          <p>
            <Prose text={withLabels(suggestion, stage, labelOf)} />
          </p>
        )}
      </th>
      <td className={styles.job}>
        <span className={styles.name} title={name}>
          {name}
        </span>
        <span className={styles.state}>
          <StatusBadge status={job_status} />
          <Button look="quiet" aria-label={`Only this job: ${name}, ${title}`} onClick={() => onJob(job_id)}>
            Only this job
          </Button>
        </span>
      </td>
      <td className={styles.where}>{whereOf(finding)}</td>
      <td className={styles.time}>
        <TimeAgo time={last_at} />
      </td>
    </tr>
  );
}

const DONE: Record<string, string> = {
  pause: "paused the run",
  stop: "stopped the run",
  roll_back: "went back to a checkpoint",
};

/** The seed, stage and step, the number of times, and what the run did. */
function whereOf({ seed, stage, step, times, action }: HealthFinding): string {
  const place = stage === null ? "" : `${stageShort(stage)} step ${step}`;
  const parts = [
    seed === null ? "" : `Seed ${seed}`,
    place,
    times > 1 ? `${times} times` : "",
    (action && DONE[action]) ?? "",
  ];
  return parts.filter(Boolean).join(", ");
}
