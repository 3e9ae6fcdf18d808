import { Announce } from "@/components/announce";
import { ProgressBar } from "@/components/progress-bar";
import type { Report } from "@/lib/api/types";
import { percent } from "@/lib/format";
import pageStyles from "@/features/datasets/ui/datasets.module.css";

const WAITS = "The report waits for a worker.";

export function ReportProgress({ report }: { report: Report }) {
  if (report.status !== "queued" && report.status !== "running") return null;
  const isQueued = report.status === "queued";
  const { fraction = 0, note = "" } = report.progress ?? {};
  return (
    <div className={pageStyles.progress}>
      <Announce text={isQueued ? WAITS : "The report is being made."} />
      <p>{isQueued ? WAITS : `The report is being made: ${[percent(fraction), note].filter(Boolean).join(", ")}.`}</p>
      <ProgressBar fraction={fraction} label="Report" />
    </div>
  );
}
