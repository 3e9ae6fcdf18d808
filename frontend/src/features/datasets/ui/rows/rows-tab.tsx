import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { ErrorNotice, Notice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { rowsQuery } from "@/features/datasets/api/datasets";
import type { Go, Place } from "@/features/datasets/model/place";
import { useCurrentRow, useKeys } from "@/features/datasets/model/row-keys";
import { Pager, usePages } from "@/features/datasets/ui/rows/pager";
import { RowList } from "@/features/datasets/ui/rows/row-list";
import { RowsToolbar } from "@/features/datasets/ui/rows/rows-toolbar";
import { ApiError } from "@/lib/api/client";
import type { DatasetVersion, Finding } from "@/lib/api/types";

const PAGE = 20;
const INDEX_POLL_MS = 2000;
const NOT_INDEXED = "search_not_ready";

interface Props {
  datasetId: string;
  version: DatasetVersion;
  /** Findings of the chosen report, by which rows can be filtered. */
  findings: readonly Finding[];
  reportId: string | null;
  place: Place;
  go: Go;
}

/** The rows of a version: a page at a time, searched, filtered, or drawn at random. */
export function RowsTab({ datasetId, version, findings, reportId, place, go }: Props) {
  const search = useRef<HTMLInputElement>(null);
  const isStored = version.rows !== null;
  const { search: text, finding, split, seed, after } = place;
  const wanted = {
    version: version.number,
    after,
    limit: PAGE,
    search: text,
    finding,
    report: finding && reportId,
    split,
    seed,
  };
  const query = useQuery({
    ...rowsQuery(datasetId, wanted),
    enabled: isStored,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (isIndexing(state.error) ? INDEX_POLL_MS : false),
  });
  const rows = query.data?.data ?? [];
  const pages = usePages(place, go, query.data, PAGE);
  const [current, setCurrent] = useCurrentRow(place.row, go);
  const at = rows.findIndex((row) => row.row_number === current);
  const moveTo = (index: number) => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, index))];
    if (row) setCurrent(row.row_number);
  };
  useKeys({
    next: () => (at === rows.length - 1 && pages.next ? pages.next() : moveTo(at + 1)),
    previous: () => (at === 0 && pages.previous ? pages.previous() : moveTo(at === -1 ? 0 : at - 1)),
    nextPage: () => pages.next?.(),
    previousPage: () => pages.previous?.(),
    diff: () => go({ diff: !place.diff }),
    open: () => go({ view: place.view === "table" ? "sides" : "table" }),
    random: () => go({ seed: freshSeed() }),
    search: () => search.current?.focus(),
  });
  return (
    <section aria-label="Rows">
      <RowsToolbar
        {...{ place, go, findings, version }}
        searchRef={search}
        onRandom={() => go({ seed: freshSeed() })}
      />
      {!isStored && <NoRows version={version} isFiltered={false} />}
      {isStored && query.isPending && <Skeleton rows={6} height="4rem" label="Loading rows" />}
      {isStored && query.error && <Trouble error={query.error} onRetry={() => void query.refetch()} />}
      {isStored && query.data && !query.error && (
        <>
          <RowList {...{ rows, place, current }} onCurrent={setCurrent} busy={query.isPlaceholderData} />
          {rows.length === 0 && <NoRows version={version} isFiltered={Boolean(text || finding || split)} />}
          <Pager {...pages} rows={rows} total={query.data.total} sampled={seed !== null} />
        </>
      )}
    </section>
  );
}

const isIndexing = (error: Error | null): boolean => error instanceof ApiError && error.body.code === NOT_INDEXED;
const freshSeed = (): number => Math.floor(Math.random() * 1_000_000);

function Trouble({ error, onRetry }: { error: Error; onRetry: () => void }) {
  if (!isIndexing(error)) return <ErrorNotice error={error} doing="load the rows" onRetry={onRetry} />;
  return (
    <Notice title="The search index is being built">
      <p>You can read the rows in order now. Search and filters work once the index is complete.</p>
    </Notice>
  );
}

function NoRows({ version, isFiltered }: { version: DatasetVersion; isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Notice title="No row is like that">
        <p>Search for other words, or take a filter away.</p>
      </Notice>
    );
  }
  return (
    <Notice title={version.status === "importing" ? "No rows yet" : "No rows"}>
      <p>{version.status === "importing" ? "They appear when the import is done." : "This version holds none."}</p>
    </Notice>
  );
}
