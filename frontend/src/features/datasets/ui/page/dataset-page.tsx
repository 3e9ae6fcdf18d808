import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import { ErrorNotice } from "@/components/error-notice";
import { useDocumentTitle } from "@/components/page-title";
import { Skeleton } from "@/components/skeleton";
import { StaleBanner } from "@/components/stale-banner";
import { datasetQuery, versionsQuery } from "@/features/datasets/api/datasets";
import { DatasetHeader } from "@/features/datasets/ui/page/dataset-header";
import { DatasetTabs } from "@/features/datasets/ui/page/dataset-tabs";
import { StatePanel } from "@/features/datasets/ui/page/state-panel";
import { usePlace } from "@/features/datasets/ui/page/use-place";
import { isPassing } from "@/lib/api/problem";

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
  useDocumentTitle(dataset.data?.name ?? "Dataset");
  // What passes leaves standing what is known already.
  const failed = [dataset, versions].find((query) => query.isError && !(query.data && isPassing(query.error)));
  if (failed?.error) {
    return <ErrorNotice error={failed.error} doing="show this dataset" onRetry={() => void failed.refetch()} />;
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
