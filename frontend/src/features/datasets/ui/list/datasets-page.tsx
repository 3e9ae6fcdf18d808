import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useCallback } from "react";
import { Link, useNavigate } from "react-router";
import { Button, buttonClass } from "@/components/button";
import { ErrorNotice, Notice, StaleBanner } from "@/components/notice";
import { PageHeader } from "@/components/page-header";
import { Skeleton } from "@/components/status";
import { SubmitLink } from "@/components/submit-link";
import { datasetsQuery } from "@/features/datasets/api/datasets";
import { asSort } from "@/features/datasets/model/choice";
import { addFiles } from "@/features/datasets/model/transfers";
import { useDropAnywhere } from "@/features/datasets/ui/add/drop-zone";
import { OnTheWay } from "@/features/datasets/ui/add/transfer-card";
import { DatasetTable } from "@/features/datasets/ui/list/dataset-table";
import { ListFilters, useListFilter } from "@/features/datasets/ui/list/list-filters";
import { paths } from "@/lib/address";
import styles from "@/features/datasets/ui/datasets.module.css";

const POLL_MS = 10_000;
const BUSY_MS = 1500;

export function DatasetsPage() {
  const { filter, isFiltered, change } = useListFilter();
  const query = useInfiniteQuery({
    ...datasetsQuery(filter),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data?.pages.some((page) => page.data.some((one) => one.status === "importing")) ? BUSY_MS : POLL_MS,
  });
  const navigate = useNavigate();
  const take = useCallback(
    (files: readonly File[]) => {
      addFiles(files);
      void navigate(paths.newDataset);
    },
    [navigate],
  );
  const over = useDropAnywhere(take);
  // A dataset whose value changes between two pages may be on both.
  const byId = new Map(query.data?.pages.flatMap((page) => page.data).map((dataset) => [dataset.id, dataset]));
  const datasets = query.data && [...byId.values()];
  const isEmpty = datasets?.length === 0;
  // The answer to other filters, which is shown in the meantime, does not say that there is no data.
  const isFirst = isEmpty && !isFiltered && !query.isPlaceholderData;
  return (
    <div className={over ? styles.dropping : ""}>
      <PageHeader title="Datasets" wide actions={<SubmitLink to={paths.newDataset}>Add data</SubmitLink>} />
      {query.isError && datasets && <StaleBanner since={query.dataUpdatedAt} />}
      <OnTheWay />
      <ListFilters filter={filter} onChange={change} />
      {query.isPending && <Skeleton rows={4} height="2.5rem" label="Loading datasets" />}
      {query.isError && !datasets && (
        <ErrorNotice error={query.error} doing="load the datasets" onRetry={() => void query.refetch()} />
      )}
      {isFirst && <NoDatasets />}
      {isEmpty && !isFirst && (
        <Notice title={filter.archived ? "There are no archived datasets" : "No dataset matches the filters"}>
          <Button onClick={() => change({ search: "", kind: null, archived: false })}>Show all</Button>
        </Notice>
      )}
      {datasets && !isEmpty && (
        <DatasetTable datasets={datasets} sort={filter.sort} onSort={(sort) => change({ sort: asSort(sort) })} />
      )}
      {query.hasNextPage && (
        <p className={styles.more}>
          <Button onClick={() => void query.fetchNextPage()}>
            {filter.sort ? "Show more datasets" : "Show older datasets"}
          </Button>
        </p>
      )}
    </div>
  );
}

function NoDatasets() {
  return (
    <Notice title="No data yet">
      <p>
        Preferences, prompts or conversations, as JSONL, JSON, CSV or Parquet: drop a file anywhere on this page. You
        see what it was taken for before it becomes a dataset, and what is wrong with it before a job is spent on it.
      </p>
      <Link className={buttonClass("primary")} to={paths.newDataset}>
        Add the first
      </Link>
    </Notice>
  );
}
