import { createBrowserRouter } from "react-router";
import { Crash } from "@/app/crash";
import { NotFound } from "@/app/not-found";
import { Shell } from "@/app/shell";
import { NewRoundPage } from "@/features/annotation/create/new-round-page";
import { QueuePage } from "@/features/annotation/queue/queue-page";
import { RoundPage } from "@/features/annotation/round/round-page";
import { RoundsPage } from "@/features/annotation/rounds/rounds-page";
import { AddPage } from "@/features/datasets/add/add-page";
import { DatasetsPage } from "@/features/datasets/list/datasets-page";
import { DatasetPage } from "@/features/datasets/page/dataset-page";
import { JobsPage } from "@/features/jobs/jobs-page";
import { RunPage } from "@/features/run/run-page";

export const createRouter = () =>
  createBrowserRouter([
    {
      element: <Shell />,
      errorElement: <Crash />,
      children: [
        { path: "/", element: <JobsPage /> },
        { path: "/jobs/:jobId", element: <RunPage /> },
        { path: "/datasets", element: <DatasetsPage /> },
        { path: "/datasets/new", element: <AddPage /> },
        { path: "/datasets/:datasetId", element: <DatasetPage /> },
        { path: "/annotate", element: <RoundsPage /> },
        { path: "/annotate/new", element: <NewRoundPage /> },
        { path: "/annotate/:roundId", element: <RoundPage /> },
        { path: "/annotate/:roundId/queue", element: <QueuePage /> },
        { path: "*", element: <NotFound /> },
      ],
    },
  ]);
