import { Notice } from "@/components/notice";
import { ordered } from "@/features/datasets/model/order";
import type { Place } from "@/features/datasets/model/place";
import type { Go } from "@/features/datasets/ui/page/use-place";
import { Problems } from "@/features/datasets/ui/problem-lines";
import { Figures } from "@/features/datasets/ui/report/figures";
import { FindingList } from "@/features/datasets/ui/report/finding-list";
import { ReportForm } from "@/features/datasets/ui/report/report-form";
import { ReportPicker } from "@/features/datasets/ui/report/report-picker";
import { ReportProgress } from "@/features/datasets/ui/report/report-progress";
import type { Dataset, DatasetVersion, Report } from "@/lib/api/types";

interface Props {
  dataset: Dataset;
  version: DatasetVersion;
  reports: readonly Report[];
  report: Report | null;
  place: Place;
  go: Go;
}

/** What is wrong with the data, what to do about it, and how it is made up. */
export function ReportTab({ dataset, version, reports, report, place, go }: Props) {
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
        <Notice title="The report comes after the import">
          <p>It looks at every row: for duplicates, contradictions, lengths, agreement and more.</p>
        </Notice>
      )}
      {canReport && !reports.length && (
        <Notice title="No report on this version yet">
          <p>It is made by itself after the import. Should none come, ask for one below.</p>
        </Notice>
      )}
      {canReport && <ReportForm dataset={dataset} version={version} open={!reports.length} go={go} />}
    </>
  );
}
