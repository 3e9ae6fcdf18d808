import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Suspense, useDeferredValue, useMemo, useState } from "react";
import { Navigate } from "react-router";
import { Button } from "@/components/button";
import { loadable } from "@/components/loadable";
import { ErrorNotice, Notice, StaleBanner } from "@/components/notice";
import { PageHeader } from "@/components/page-header";
import { Skeleton } from "@/components/status";
import { SubmitLink } from "@/components/submit-link";
import { filteredJobsQuery, type JobFilter } from "@/features/jobs/api";
import { useMembers } from "@/features/jobs/api-fields";
import { type Choice, filterOf, isFiltered, readChoice, UNFILTERED, writeChoice } from "@/features/jobs/model/choice";
import { fieldsIn } from "@/features/jobs/model/columns";
import { rowsOf } from "@/features/jobs/model/folding";
import { useRefreshedJobs } from "@/features/jobs/refreshed";
import { BulkBar } from "@/features/jobs/ui/bulk-bar";
import { FoldingContext } from "@/features/jobs/ui/fold";
import { JobTable } from "@/features/jobs/ui/job-table";
import { ListFilters } from "@/features/jobs/ui/list-filters";
import { ListViews, useColumns } from "@/features/jobs/ui/list-views";
import { paths, useAddress } from "@/lib/address";
import type { JobSummary } from "@/lib/api/types";
import { useLink } from "@/lib/live/use-live";
import { usePermissions } from "@/lib/permissions";
import styles from "./jobs.module.css";

const FirstJob = loadable(async () => (await import("@/features/jobs/ui/first-job")).FirstJob);

/** Without a connection. */
const POLL_MS = 5000;
/** While events arrive: for jobs that others submit. */
const SLOW_POLL_MS = 20_000;

/** The list of jobs. An annotator sees no jobs, so the first page is that of the rounds. */
export function JobsPage() {
  const { may } = usePermissions();
  return may("read") ? <JobList /> : <Navigate to={paths.rounds} replace />;
}

function JobList() {
  const [params, setParams] = useAddress();
  const choice = readChoice(params);
  const change = (to: Partial<Choice>) => setParams((before) => writeChoice({ ...readChoice(before), ...to }));
  const [columns, setColumns] = useColumns();
  const [picked, setPicked] = useState<readonly string[]>([]);
  const isLive = useLink().state === "live";
  const filter = filterOf(choice);
  const show = fieldsIn(columns);
  const query = useInfiniteQuery({
    ...filteredJobsQuery(filter, show),
    placeholderData: keepPreviousData,
    refetchInterval: isLive ? SLOW_POLL_MS : POLL_MS,
  });
  const jobs = useMemo(() => query.data && distinct(query.data.pages.flatMap((page) => page.data)), [query.data]);
  // The first rendering of the table is a transition, so that the browser can do other things meanwhile.
  const isShown = useDeferredValue(jobs !== undefined, false) && jobs !== undefined;
  const { rows, folding } = useRows(jobs ?? NONE, filter, show);
  const shown = rows.flatMap(({ job }) => (job.folded ? [] : [job]));
  useRefreshedJobs(rows.map(({ job }) => job));
  const selected = shown.filter((job) => picked.includes(job.id));
  // The answer to other filters, which is shown in the meantime, does not say that there are no jobs.
  const isFirst = jobs?.length === 0 && !isFiltered(choice) && !query.isPlaceholderData;
  return (
    <div data-wide>
      <PageHeader title="Jobs" actions={<SubmitLink to={paths.newJob()}>New job</SubmitLink>} />
      {query.isError && jobs && <StaleBanner since={query.dataUpdatedAt} />}
      {!isFirst && (
        <div className={styles.tools}>
          <ListFilters choice={choice} columns={columns} onChange={change} />
          <ListViews columns={columns} onColumns={setColumns} query={writeChoice(choice).toString()} />
        </div>
      )}
      <BulkBar jobs={selected} onSelect={setPicked} />
      {(query.isPending || (jobs && !isShown)) && <Skeleton rows={5} height="2.75rem" label="Loading jobs" />}
      {query.isError && !jobs && (
        <ErrorNotice error={query.error} doing="load the jobs" onRetry={() => void query.refetch()} />
      )}
      {isFirst && (
        <Suspense fallback={<Skeleton rows={5} height="2.75rem" label="Loading the start" />}>
          <FirstJob />
        </Suspense>
      )}
      {jobs?.length === 0 && !isFirst && (
        <Notice title="No job matches the filters">
          <Button onClick={() => change(UNFILTERED)}>Clear the filters</Button>
        </Notice>
      )}
      {isShown && jobs.length > 0 && (
        <FoldingContext value={folding}>
          <JobTable
            rows={rows}
            columns={columns}
            sort={choice.sort}
            onSort={(sort) => change({ sort })}
            selected={selected.map((job) => job.id)}
            onSelect={setPicked}
          />
        </FoldingContext>
      )}
      {query.hasNextPage && (
        <p className={styles.more}>
          <Button onClick={() => void query.fetchNextPage()} disabled={query.isFetchingNextPage}>
            {choice.sort ? "Show more jobs" : "Show older jobs"}
          </Button>
        </p>
      )}
    </div>
  );
}

const NONE: readonly JobSummary[] = [];

/** The rows of the list, with the jobs of the opened groups, and how they are opened. */
function useRows(jobs: readonly JobSummary[], filter: JobFilter, show: readonly string[]) {
  const [open, setOpen] = useState<readonly string[]>([]);
  const groups = useMemo(
    () => jobs.flatMap(({ folded }) => (folded && open.includes(folded.group_id) ? [folded.group_id] : [])),
    [jobs, open],
  );
  const members = useMembers(filter, show, groups);
  const rows = useMemo(() => rowsOf(jobs, members), [jobs, members]);
  const folding = useMemo(() => {
    const toggle = (group: string) =>
      setOpen((before) => (before.includes(group) ? before.filter((one) => one !== group) : [...before, group]));
    return { open, toggle };
  }, [open]);
  return { rows, folding };
}

/** Each job once: a job whose value changes between two pages may be on both. */
const distinct = (jobs: readonly JobSummary[]): JobSummary[] => [...new Map(jobs.map((job) => [job.id, job])).values()];
