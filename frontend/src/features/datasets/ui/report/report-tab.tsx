import { Notice } from "@/components/notice";
import { Announce, ProgressBar, StatusBadge } from "@/components/status";
import { TimeAgo } from "@/components/text";
import type { Go, Place } from "@/features/datasets/model/place";
import { ordered, settingsText } from "@/features/datasets/model/report";
import { Problems } from "@/features/datasets/ui/problem-lines";
import { Figures } from "@/features/datasets/ui/report/figures";
import { FindingList } from "@/features/datasets/ui/report/finding-list";
import { ReportForm } from "@/features/datasets/ui/report/report-form";
import type { Dataset, DatasetVersion, Report } from "@/lib/api/types";
import { absolute, percent } from "@/lib/format";
import styles from "./report.module.css";
import datasetsStyles from "@/features/datasets/ui/datasets.module.css";

interface ReportTabProps {
  dataset: Dataset;
  version: DatasetVersion;
  reports: readonly Report[];
  report: Report | null;
  place: Place;
  go: Go;
}

/** Findings with their fixes, and the figures of the data. */
export function ReportTab({ dataset, version, reports, report, place, go }: ReportTabProps) {
  const result = report?.result ?? null;
  const found = ordered(version.findings, result?.findings ?? [], report?.id ?? null);
  const canReport = version.status === "ready" || version.status === "blocked";
  return (
    <>
      {reports.length > 0 && <ReportPicker reports={reports} report={report} named={place.report} go={go} />}
      {report && <ReportProgress report={report} />}
      {report?.status === "failed" && (
        <Problems title="The report failed" message={report.error?.message ?? ""} items={[]} total={null} />
      )}
      <FindingList {...{ dataset, version, found, place, go }} checked={result !== null} />
      {result && <Figures result={result} />}
      {version.status === "importing" && (
        <Notice title="The report follows the import">
          <p>It checks every row for duplicates, contradictions, lengths, agreement and more.</p>
        </Notice>
      )}
      {canReport && !reports.length && (
        <Notice title="No report on this version yet">
          <p>The platform makes it after the import. You can also request one below.</p>
        </Notice>
      )}
      {canReport && <ReportForm dataset={dataset} version={version} open={!reports.length} go={go} />}
    </>
  );
}

interface ReportPickerProps {
  reports: readonly Report[];
  report: Report | null;
  /** The one that the address asks for. */
  named: string | null;
  go: Go;
}

/** Which report is shown, where there are several: each was made for another model or other lengths. */
function ReportPicker({ reports, report, named, go }: ReportPickerProps) {
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
      {report.status !== "succeeded" && <StatusBadge status={report.status} />}
      {named !== null && named !== report.id && <span>There is no report {named} on this version.</span>}
      <span className={styles.when}>
        <TimeAgo time={report.created_at} />
      </span>
    </div>
  );
}

const WAITS = "The report waits for a worker.";

function ReportProgress({ report }: { report: Report }) {
  if (report.status !== "queued" && report.status !== "running") return null;
  const isQueued = report.status === "queued";
  const { fraction = 0, note = "" } = report.progress ?? {};
  return (
    <div className={datasetsStyles.progress}>
      <Announce text={isQueued ? WAITS : "The report is being made."} />
      <p>{isQueued ? WAITS : `The report is being made: ${[percent(fraction), note].filter(Boolean).join(", ")}.`}</p>
      <ProgressBar fraction={fraction} label="Report" />
    </div>
  );
}
