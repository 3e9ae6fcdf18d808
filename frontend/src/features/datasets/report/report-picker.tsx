import type { Report } from "@/api/types";
import { StatusBadge } from "@/components/status-badge";
import { TimeAgo } from "@/components/time-ago";
import type { Go } from "@/features/datasets/page/use-place";
import styles from "@/features/datasets/report/report.module.css";
import { settingsText } from "@/features/datasets/report/settings-text";

/** Which report is shown, where there are several: each was made for another model or other lengths. */
export function ReportPicker({ reports, report, go }: { reports: readonly Report[]; report: Report | null; go: Go }) {
  if (!report) return null;
  return (
    <div className={styles.picker}>
      {reports.length > 1 ? (
        <label>
          Report
          <select value={report.id} onChange={(event) => go({ report: event.target.value })}>
            {reports.map((one) => (
              <option key={one.id} value={one.id}>
                {settingsText(one.settings)}
              </option>
            ))}
          </select>
        </label>
      ) : (
        <span>Report {settingsText(report.settings)}</span>
      )}
      {report.status !== "done" && <StatusBadge status={report.status} />}
      <span className={styles.when}>
        <TimeAgo time={report.created_at} />
      </span>
    </div>
  );
}
