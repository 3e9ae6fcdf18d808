import { BrowserRouter, Link, matchPath, Navigate, Route, Routes } from "react-router";
import { Shell } from "@/app/shell";
import { loadable } from "@/components/loadable";
import { Notice } from "@/components/notice";
import { PageHeader } from "@/components/page-header";
import { filteredJobsQuery, jobBatchQuery, jobQuery } from "@/features/jobs/api";
import { metricsQuery } from "@/features/run/api";
import { comparedRuns, paths } from "@/lib/address";
import { queryClient } from "@/lib/api/client";
import { metricReferenceQuery } from "@/lib/labels";

/** The pages. The code of one is loaded when it is first opened. */
const PAGES = [
  { path: "/", load: async () => (await import("@/features/jobs/ui/jobs-page")).JobsPage },
  { path: "/jobs/new", load: async () => (await import("@/features/job-form/ui/new-job-page")).NewJobPage },
  { path: "/jobs/:jobId", load: async () => (await import("@/features/run/ui/run-page")).RunPage },
  {
    path: "/datasets",
    load: async () => (await import("@/features/datasets/ui/list/datasets-page")).DatasetsPage,
  },
  { path: "/datasets/new", load: async () => (await import("@/features/datasets/ui/add/add-page")).AddPage },
  {
    path: "/datasets/:datasetId",
    load: async () => (await import("@/features/datasets/ui/page/dataset-page")).DatasetPage,
  },
  {
    path: "/annotate",
    load: async () => (await import("@/features/annotation/ui/rounds/rounds-page")).RoundsPage,
  },
  {
    path: "/annotate/new",
    load: async () => (await import("@/features/annotation/ui/create/new-round-page")).NewRoundPage,
  },
  {
    path: "/annotate/:roundId",
    load: async () => (await import("@/features/annotation/ui/round/round-page")).RoundPage,
  },
  {
    path: "/annotate/:roundId/queue",
    load: async () => (await import("@/features/annotation/ui/queue/queue-page")).QueuePage,
  },
  {
    path: "/compare",
    load: async () => (await import("@/features/compare/ui/compare-page")).ComparePage,
  },
  { path: "/findings", load: async () => (await import("@/features/findings/ui/findings-page")).FindingsPage },
  { path: "/groups", load: async () => (await import("@/features/groups/ui/groups-page")).GroupsPage },
  { path: "/groups/:groupId", load: async () => (await import("@/features/groups/ui/group-page")).GroupPage },
  {
    path: "/templates",
    load: async () => (await import("@/features/job-form/ui/templates-page")).TemplatesPage,
  },
  { path: "/workers", load: async () => (await import("@/features/workers/ui")).WorkersPage },
  {
    path: "/settings",
    load: async () => (await import("@/features/settings/ui/settings-page")).SettingsPage,
  },
].map(({ path, load }) => {
  const Page = loadable(load);
  return { path, preload: Page.preload, element: <Page /> };
});

/** Fetches the code of the page at this address. Resolves when it is there, or cannot be loaded. */
export async function preloadPage({ pathname }: Location): Promise<void> {
  await PAGES.find(({ path }) => matchPath(path, pathname))?.preload();
}

/** Begins to fetch the data that the pages opened most often show first, while their code is on its way. */
export function prefetchData({ pathname, search }: Location): void {
  const params = new URLSearchParams(search);
  const ignored = () => undefined; // The page asks again, and shows the error.
  const jobId = matchPath(paths.job(":jobId"), pathname)?.params.jobId;
  if (pathname === paths.jobs)
    import("@/features/jobs/model/choice")
      .then(({ filterOf, readChoice }) => queryClient.infiniteQuery(filteredJobsQuery(filterOf(readChoice(params)))))
      .catch(ignored);
  if (pathname === paths.compare()) queryClient.query(jobBatchQuery(comparedRuns(params))).catch(ignored);
  // The head of the page comes from the job. The series are far larger, and would delay it.
  const series = (id: string) =>
    Promise.all([queryClient.query(metricsQuery(id)), queryClient.query(metricReferenceQuery)]);
  if (jobId?.startsWith("job_"))
    queryClient
      .query(jobQuery(jobId))
      .then(() => series(jobId))
      .catch(ignored);
}

/** The pages by address. */
export function Router() {
  return (
    // Fields, tabs and boxes take their state from the address. In a transition, a stream of events would delay their change.
    <BrowserRouter useTransitions={false}>
      <Routes>
        <Route element={<Shell />}>
          {PAGES.map(({ path, element }) => (
            <Route key={path} path={path} element={element} />
          ))}
          <Route path="/jobs" element={<Navigate to={paths.jobs} replace />} />
          <Route path="*" element={<NotFound />} />
        </Route>
      </Routes>
    </BrowserRouter>
  );
}

function NotFound() {
  return (
    <>
      <PageHeader title="Page not found" />
      <Notice title="The dashboard has no page at this address">
        <p>
          Go to the <Link to={paths.jobs}>jobs</Link>, the <Link to={paths.datasets}>datasets</Link> or the{" "}
          <Link to={paths.rounds}>annotation rounds</Link>.
        </p>
      </Notice>
    </>
  );
}
