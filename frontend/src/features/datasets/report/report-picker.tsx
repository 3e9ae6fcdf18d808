import type { Report } from "@/api/types";
import { StatusBadge } from "@/components/status-badge";
import { TimeAgo } from "@/components/time-ago";
import type { Go } from "@/features/datasets/page/use-place";
import styles from "@/features/datasets/report/report.module.css";
import { settingsText } from "@/features/datasets/report/settings-text";
import { absolute } from "@/lib/format";

interface Props {
  reports: readonly Report[];
  report: Report | null;
  /** The one that the address asks for. */
  named: string | null;
  go: Go;
}

/** Which report is shown, where there are several: each was made for another model or other lengths. */
export function ReportPicker({ reports, report, named, go }: Props) {
  if (!report) return null;
  return (
    <div className={styles.picker}>
      {reports.length > 1 ? (
        <label>
          Report
          <select value={report.id} onChange={(event) => go({ report: event.target.value })}>
            {reports.map((one) => (
              <option key={one.id} value={one.id}>
                {settingsText(one.settings)}, {absolute(one.created_at)}
              </option>
            ))}
          </select>
        </label>
      ) : (
        <span>Report {settingsText(report.settings)}</span>
      )}
      {report.status !== "done" && <StatusBadge status={report.status} />}
      {named !== null && named !== report.id && <span>There is no report {named} on this version.</span>}
      <span className={styles.when}>
        <TimeAgo time={report.created_at} />
      </span>
    </div>
  );
}
