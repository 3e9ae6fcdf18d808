import { useInfiniteQuery } from "@tanstack/react-query";
import { Button } from "@/components/button";
import { ErrorNotice } from "@/components/error-notice";
import { PageTitle } from "@/components/page-title";
import { Skeleton } from "@/components/skeleton";
import { StaleBanner } from "@/components/stale-banner";
import { jobsQuery } from "@/features/jobs/api";
import { FirstJob } from "@/features/jobs/ui/first-job";
import { JobTable } from "@/features/jobs/ui/job-table";

const POLL_MS = 2500;

export function JobsPage() {
  const query = useInfiniteQuery({ ...jobsQuery, refetchInterval: POLL_MS });
  const jobs = query.data?.pages.flatMap((page) => page.data);
  return (
    <>
      <PageTitle title="Jobs" />
      {query.isError && jobs && <StaleBanner since={query.dataUpdatedAt} />}
      {query.isPending && <Skeleton rows={5} height="2.75rem" label="Loading jobs" />}
      {query.isError && !jobs && (
        <ErrorNotice error={query.error} doing="load the jobs" onRetry={() => void query.refetch()} />
      )}
      {jobs?.length === 0 && <FirstJob />}
      {jobs && jobs.length > 0 && <JobTable jobs={jobs} />}
      {query.hasNextPage && (
        <p style={{ padding: "1rem 0" }}>
          <Button onClick={() => void query.fetchNextPage()} disabled={query.isFetchingNextPage}>
            Show older jobs
          </Button>
        </p>
      )}
    </>
  );
}
