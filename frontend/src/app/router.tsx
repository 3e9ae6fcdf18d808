import type { ComponentType, ReactNode } from "react";
import { BrowserRouter, Link, Route, Routes } from "react-router";
import { Shell } from "@/app/shell";
import { loadable } from "@/components/loadable";
import { Notice } from "@/components/notice";
import { PageHeader } from "@/components/page-header";
import { JobsPage } from "@/features/jobs/ui/jobs-page";
import { paths } from "@/lib/address";

/** A page whose code is loaded when it is first opened. */
function page(load: () => Promise<ComponentType>): ReactNode {
  const Page = loadable(load);
  return <Page />;
}

const PAGES = [
  { path: "/jobs/new", element: page(async () => (await import("@/features/job-form/ui/new-job-page")).NewJobPage) },
  { path: "/jobs/:jobId", element: page(async () => (await import("@/features/run/ui/run-page")).RunPage) },
  {
    path: "/datasets",
    element: page(async () => (await import("@/features/datasets/ui/list/datasets-page")).DatasetsPage),
  },
  { path: "/datasets/new", element: page(async () => (await import("@/features/datasets/ui/add/add-page")).AddPage) },
  {
    path: "/datasets/:datasetId",
    element: page(async () => (await import("@/features/datasets/ui/page/dataset-page")).DatasetPage),
  },
  {
    path: "/annotate",
    element: page(async () => (await import("@/features/annotation/ui/rounds/rounds-page")).RoundsPage),
  },
  {
    path: "/annotate/new",
    element: page(async () => (await import("@/features/annotation/ui/create/new-round-page")).NewRoundPage),
  },
  {
    path: "/annotate/:roundId",
    element: page(async () => (await import("@/features/annotation/ui/round/round-page")).RoundPage),
  },
  {
    path: "/annotate/:roundId/queue",
    element: page(async () => (await import("@/features/annotation/ui/queue/queue-page")).QueuePage),
  },
  {
    path: "/compare",
    element: page(async () => (await import("@/features/compare/ui/compare-page")).ComparePage),
  },
  { path: "/groups", element: page(async () => (await import("@/features/groups/ui/groups-page")).GroupsPage) },
  { path: "/groups/:groupId", element: page(async () => (await import("@/features/groups/ui/group-page")).GroupPage) },
  { path: "/workers", element: page(async () => (await import("@/features/workers/ui")).WorkersPage) },
  {
    path: "/settings",
    element: page(async () => (await import("@/features/settings/ui/settings-page")).SettingsPage),
  },
];

/** The pages by address. */
export function Router() {
  return (
    // Fields, tabs and boxes take their state from the address. In a transition, a stream of events would delay their change.
    <BrowserRouter useTransitions={false}>
      <Routes>
        <Route element={<Shell />}>
          <Route path="/" element={<JobsPage />} />
          {PAGES.map(({ path, element }) => (
            <Route key={path} path={path} element={element} />
          ))}
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
