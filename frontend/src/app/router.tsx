import { createBrowserRouter } from "react-router";
import { Crash } from "@/app/crash";
import { NotFound } from "@/app/not-found";
import { Shell } from "@/app/shell";
import { DatasetPage } from "@/features/datasets/dataset-page";
import { DatasetsPage } from "@/features/datasets/datasets-page";
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
        { path: "/datasets/:datasetId", element: <DatasetPage /> },
        { path: "*", element: <NotFound /> },
      ],
    },
  ]);
