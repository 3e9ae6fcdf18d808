import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import { ErrorNotice, PageError, StaleBanner } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { type Choice, Tabs } from "@/components/tabs";
import { datasetQuery, reportsQuery, versionsQuery } from "@/features/datasets/api/datasets";
import { type Go, moved, type Place, type TabId, usePlace, writePlace } from "@/features/datasets/model/place";
import { chosenReport } from "@/features/datasets/model/report";
import { DatasetHeader } from "@/features/datasets/ui/page/dataset-header";
import { StatePanel } from "@/features/datasets/ui/page/state-panel";
import { VersionsTab } from "@/features/datasets/ui/page/versions-tab";
import { ReportTab } from "@/features/datasets/ui/report/report-tab";
import { RowsTab } from "@/features/datasets/ui/rows/rows-tab";
import { paths } from "@/lib/address";
import { isPassing } from "@/lib/api/client";
import type { Dataset, DatasetVersion } from "@/lib/api/types";

const BUSY_MS = 1000;

export function DatasetPage() {
  const { datasetId = "" } = useParams();
  return <Page key={datasetId} id={datasetId} />;
}

function Page({ id }: { id: string }) {
  const [place, go] = usePlace();
  const dataset = useQuery({
    ...datasetQuery(id),
    refetchInterval: ({ state }) => (state.data?.status === "importing" || isPassing(state.error) ? BUSY_MS : false),
  });
  // The versions follow the dataset: what it has become is in them.
  const { status, version: newest } = dataset.data ?? {};
  const versions = useQuery({
    ...versionsQuery(id, `${newest ?? ""}/${status ?? ""}`),
    enabled: Boolean(dataset.data),
  });
  // Temporary errors leave the known data on the page.
  const failed = [dataset, versions].find((query) => query.isError && !(query.data && isPassing(query.error)));
  if (failed?.error) {
    return (
      <PageError
        subject="Dataset"
        parent={{ to: paths.datasets, label: "Datasets" }}
        error={failed.error}
        doing="show this dataset"
        onRetry={() => void failed.refetch()}
      />
    );
  }
  const isBehind = versions.isPlaceholderData && !versions.data.some((one) => one.number === newest);
  if (!dataset.data || !versions.data || isBehind) {
    return <Skeleton rows={6} height="2.5rem" label="Loading the dataset" />;
  }
  const number = place.version ?? dataset.data.version;
  const version = versions.data.find((one) => one.number === number);
  return (
    <>
      {isPassing(dataset.error) && <StaleBanner since={dataset.dataUpdatedAt} />}
      <DatasetHeader dataset={dataset.data} version={version ?? null} versions={versions.data} go={go} />
      <StatePanel dataset={dataset.data} version={version ?? null} wanted={number} go={go} />
      {version && <DatasetTabs {...{ dataset: dataset.data, version, versions: versions.data, place, go }} />}
    </>
  );
}

interface DatasetTabsProps {
  dataset: Dataset;
  version: DatasetVersion;
  versions: readonly DatasetVersion[];
  place: Place;
  go: Go;
}

function DatasetTabs({ dataset, version, versions, place, go }: DatasetTabsProps) {
  const reports = useQuery({
    ...reportsQuery(dataset.id, version.number),
    refetchInterval: ({ state }) => (isBusy(state.data, version) ? BUSY_MS : false),
  });
  const report = chosenReport(reports.data ?? [], place.report);
  const tabs: Choice<TabId>[] = [
    { id: "report", label: "Report" },
    { id: "rows", label: "Rows" },
    { id: "versions", label: versions.length > 1 ? `Versions (${versions.length})` : "Versions" },
  ];
  return (
    <Tabs
      tabs={tabs}
      value={place.tab}
      addressOf={(tab) => writePlace(moved(place, { tab }))}
      label="Views of this dataset"
    >
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
    </Tabs>
  );
}

/** Until a report is done; the first one is asked for by the import itself, a moment after it. */
function isBusy(reports: readonly { status: string }[] | undefined, version: DatasetVersion): boolean {
  if (!reports) return false;
  if (!reports.length) return version.status === "ready" || version.status === "blocked";
  return reports.some((one) => one.status === "queued" || one.status === "running");
}
