import { useInfiniteQuery } from "@tanstack/react-query";
import { datasetsQuery } from "@/api/datasets";
import { Button } from "@/components/button";
import { ErrorNotice } from "@/components/error-notice";
import { PageTitle } from "@/components/page-title";
import { Skeleton } from "@/components/skeleton";
import { StaleBanner } from "@/components/stale-banner";
import { DatasetTable } from "@/features/datasets/dataset-table";
import { UploadForm } from "@/features/datasets/upload-form";

const POLL_MS = 10_000;

export function DatasetsPage() {
  const query = useInfiniteQuery({ ...datasetsQuery, refetchInterval: POLL_MS });
  const datasets = query.data?.pages.flatMap((page) => page.data);
  return (
    <>
      <PageTitle title="Datasets" />
      {query.isError && datasets && <StaleBanner since={query.dataUpdatedAt} />}
      <UploadForm open={datasets?.length === 0} />
      {query.isPending && <Skeleton rows={4} height="2.5rem" label="Loading datasets" />}
      {query.isError && !datasets && (
        <ErrorNotice error={query.error} doing="load the datasets" onRetry={() => void query.refetch()} />
      )}
      {datasets && datasets.length > 0 && <DatasetTable datasets={datasets} />}
      {query.hasNextPage && (
        <p style={{ padding: "1rem 0" }}>
          <Button onClick={() => void query.fetchNextPage()}>Show older datasets</Button>
        </p>
      )}
    </>
  );
}
