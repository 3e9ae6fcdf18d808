import { StatusBadge } from "@/components/status-badge";
import { TimeAgo } from "@/components/time-ago";
import { settingsText } from "@/features/datasets/model/settings-text";
import type { Go } from "@/features/datasets/ui/page/use-place";
import type { Report } from "@/lib/api/types";
import { absolute } from "@/lib/format";
import styles from "./report.module.css";

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
