import type { Report } from "@/api/types";
import { ProgressBar } from "@/components/progress-bar";
import pageStyles from "@/features/datasets/datasets.module.css";
import { percent } from "@/lib/format";

export function ReportProgress({ report }: { report: Report }) {
  if (report.status !== "queued" && report.status !== "running") return null;
  const { fraction = 0, note = "" } = report.progress ?? {};
  return (
    <div className={pageStyles.progress} role="status">
      <p>
        {report.status === "queued"
          ? "The report waits for a worker."
          : `The report is being made: ${[percent(fraction), note].filter(Boolean).join(", ")}.`}
      </p>
      <ProgressBar fraction={fraction} label="Report" />
    </div>
  );
}
