import { useQuery } from "@tanstack/react-query";
import { ErrorNotice } from "@/components/error-notice";
import { Skeleton } from "@/components/skeleton";
import { type Tab, Tabs } from "@/components/tabs";
import { reportsQuery } from "@/features/datasets/api/reports";
import { chosenReport } from "@/features/datasets/model/chosen-report";
import type { Place, TabId } from "@/features/datasets/model/place";
import type { Go } from "@/features/datasets/ui/page/use-place";
import { ReportTab } from "@/features/datasets/ui/report/report-tab";
import { RowsTab } from "@/features/datasets/ui/rows/rows-tab";
import { VersionsTab } from "@/features/datasets/ui/versions/versions-tab";
import type { Dataset, DatasetVersion } from "@/lib/api/types";
import styles from "@/features/datasets/ui/datasets.module.css";

const BUSY_MS = 1000;

interface Props {
  dataset: Dataset;
  version: DatasetVersion;
  versions: readonly DatasetVersion[];
  place: Place;
  go: Go;
}

export function DatasetTabs({ dataset, version, versions, place, go }: Props) {
  const reports = useQuery({
    ...reportsQuery(dataset.id, version.number),
    refetchInterval: ({ state }) => (isBusy(state.data, version) ? BUSY_MS : false),
  });
  const report = chosenReport(reports.data ?? [], place.report);
  const tabs: Tab<TabId>[] = [
    { id: "report", label: "Report" },
    { id: "rows", label: "Rows" },
    { id: "versions", label: versions.length > 1 ? `Versions (${versions.length})` : "Versions" },
  ];
  return (
    <>
      <Tabs tabs={tabs} value={place.tab} onChange={(tab) => go({ tab })} label="Views of this dataset" />
      <div role="tabpanel" aria-label={place.tab} className={styles.panel}>
        {place.tab === "versions" && <VersionsTab dataset={dataset} versions={versions} shown={version.number} />}
        {place.tab === "rows" && (
          <RowsTab
            datasetId={dataset.id}
            findings={report?.result?.findings ?? []}
            reportId={report?.id ?? null}
            {...{ version, place, go }}
          />
        )}
        {place.tab === "report" && reports.isPending && <Skeleton rows={5} height="3rem" label="Loading the report" />}
        {place.tab === "report" && reports.isLoadingError && (
          <ErrorNotice error={reports.error} doing="load the report" onRetry={() => void reports.refetch()} />
        )}
        {place.tab === "report" && reports.data && (
          <ReportTab {...{ dataset, version, report, place, go }} reports={reports.data} />
        )}
      </div>
    </>
  );
}

/** Until a report is done; the first one is asked for by the import itself, a moment after it. */
function isBusy(reports: readonly { status: string }[] | undefined, version: DatasetVersion): boolean {
  if (!reports) return false;
  if (!reports.length) return version.status === "ready" || version.status === "blocked";
  return reports.some((one) => one.status === "queued" || one.status === "running");
}
