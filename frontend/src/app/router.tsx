import { type ComponentType, lazy } from "react";
import { createBrowserRouter } from "react-router";
import { Crash } from "@/app/crash";
import { NotFound } from "@/app/not-found";
import { Shell } from "@/app/shell";
import { JobsPage } from "@/features/jobs/ui/jobs-page";

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
