import { type ComponentType, lazy } from "react";
import { createBrowserRouter, Link, useRouteError } from "react-router";
import { Shell } from "@/app/shell";
import { Button } from "@/components/button";
import { Notice } from "@/components/notice";
import { JobsPage } from "@/features/jobs/ui/jobs-page";
import { paths } from "@/lib/address";

/**
 * A page whose code is loaded when it is first gone to. React's way, not the router's: with that, changes of an address
 * would no longer happen at once, and of two in a row the second would take the first back (`useAddress`).
 */
function page(path: string, load: () => Promise<ComponentType>) {
  const Page = lazy(async () => ({ default: await load() }));
  return { path, element: <Page /> };
}

export const createRouter = () =>
  createBrowserRouter([
    {
      element: <Shell />,
      errorElement: <Crash />,
      children: [
        { path: "/", element: <JobsPage /> },
        page("/jobs/:jobId", async () => (await import("@/features/run/ui/run-page")).RunPage),
        page("/datasets", async () => (await import("@/features/datasets/ui/list/datasets-page")).DatasetsPage),
        page("/datasets/new", async () => (await import("@/features/datasets/ui/add/add-page")).AddPage),
        page(
          "/datasets/:datasetId",
          async () => (await import("@/features/datasets/ui/page/dataset-page")).DatasetPage,
        ),
        page("/annotate", async () => (await import("@/features/annotation/ui/rounds/rounds-page")).RoundsPage),
        page(
          "/annotate/new",
          async () => (await import("@/features/annotation/ui/create/new-round-page")).NewRoundPage,
        ),
        page("/annotate/:roundId", async () => (await import("@/features/annotation/ui/round/round-page")).RoundPage),
        page(
          "/annotate/:roundId/queue",
          async () => (await import("@/features/annotation/ui/queue/queue-page")).QueuePage,
        ),
        { path: "*", element: <NotFound /> },
      ],
    },
  ]);

/** A mistake in the dashboard itself. The run goes on without it. */
function Crash() {
  const error = useRouteError();
  return (
    <main style={{ padding: "2rem 1rem", maxWidth: "48rem", margin: "0 auto" }}>
      <Notice tone="bad" title="The dashboard made a mistake">
        <p>Your jobs are not affected; they run on the server. Loading the page again usually helps.</p>
        <p>
          <code>{error instanceof Error ? error.message : String(error)}</code>
        </p>
        <Button onClick={() => window.location.reload()}>Load the page again</Button>
      </Notice>
    </main>
  );
}

function NotFound() {
  return (
    <Notice title="There is no such page">
      <p>
        Go to the <Link to={paths.jobs}>jobs</Link> or to the <Link to={paths.datasets}>datasets</Link>.
      </p>
    </Notice>
  );
}
