import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { Button, buttonClass } from "@/components/button";
import { ErrorNotice, Notice, StaleBanner } from "@/components/notice";
import { PageHeader } from "@/components/page-header";
import { Skeleton } from "@/components/status";
import { CodeBlock } from "@/components/text";
import { jobsQuery } from "@/features/jobs/api";
import { useRefreshedJobs } from "@/features/jobs/refreshed";
import { JobTable } from "@/features/jobs/ui/job-table";
import { paths } from "@/lib/address";
import { useLink } from "@/lib/live/use-live";

/** Without a connection. */
const POLL_MS = 5000;
/** While events arrive: for jobs that others submit. */
const SLOW_POLL_MS = 20_000;

export function JobsPage() {
  const isLive = useLink().state === "live";
  const query = useInfiniteQuery({ ...jobsQuery, refetchInterval: isLive ? SLOW_POLL_MS : POLL_MS });
  const jobs = query.data?.pages.flatMap((page) => page.data);
  useRefreshedJobs(jobs ?? []);
  return (
    <>
      <PageHeader
        title="Jobs"
        actions={
          <Link className={buttonClass("primary")} to={paths.newJob()}>
            New job
          </Link>
        }
      />
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

const submit = (origin: string) => `curl ${origin}/v1/jobs \\
  -H "Authorization: Bearer $PROXIMAL_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"name": "first run", "model": "sshleifer/tiny-gpt2",
       "data": {"preferences": "ds_…"}}'`;

/** The jobs page before there is a job. */
function FirstJob() {
  return (
    <Notice title="No jobs yet">
      <p>
        A job takes a language model through supervised fine-tuning, a reward model and PPO, or any of these, DPO and
        KTO alone, and ends with a comparison on held-out prompts. You watch it here while it runs.
      </p>
      <p>
        To see one at once, run <code>make demo</code> in a terminal: a small model, a CPU, about three minutes.
      </p>
      <p>
        For one of your own, <Link to={paths.datasets}>upload preference data</Link> and{" "}
        <Link to={paths.newJob()}>fill in the form of a new job</Link>, or submit one that names it over REST. The model
        is a Hugging Face id, a checkpoint of an earlier job or a folder on the worker. All other fields have defaults.
      </p>
      <CodeBlock label="Submit a job" code={submit(window.location.origin)} />
    </Notice>
  );
}
