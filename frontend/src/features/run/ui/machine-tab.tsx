import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Chart } from "@/charts/chart";
import { ChartColumns } from "@/charts/chart-columns";
import { Charts } from "@/charts/charts";
import { spanOf } from "@/charts/extent";
import type { ChartView } from "@/charts/settings";
import { Note } from "@/components/card";
import { ErrorNotice, Notice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { telemetryQuery } from "@/features/run/api-tabs";
import { machineCharts } from "@/features/run/model/telemetry";
import type { Job } from "@/lib/api/types";
import { count } from "@/lib/format";
import { hasEnded } from "@/lib/states";

/** The worker measures every ten seconds, and no event announces it. */
const POLL_MS = 10_000;
const CLOCK: ChartView = {
  axis: "time",
  scale: "linear",
  smoothing: 0,
  average: "exponential",
  clip: false,
  view: null,
};

/** CPU, memory, disk and GPUs of the machines of all attempts. */
export function MachineTab({ job }: { job: Job }) {
  const query = useQuery({ ...telemetryQuery(job.id), refetchInterval: hasEnded(job.status) ? false : POLL_MS });
  const [view, setView] = useState(CLOCK);
  if (query.isPending) return <Skeleton rows={4} height="10rem" label="Loading the measurements" />;
  if (query.isLoadingError)
    return <ErrorNotice error={query.error} doing="load the measurements" onRetry={() => void query.refetch()} />;
  const charts = machineCharts(query.data);
  if (!charts.length) {
    return (
      <Notice title={hasEnded(job.status) ? "No measurements of the machine" : "No measurements of the machine yet"}>
        <p>The worker measures CPU, memory, disk and GPUs every ten seconds while the job runs.</p>
      </Notice>
    );
  }
  const attempts = [...new Set(query.data.attempts)];
  const span = spanOf(charts.flatMap(({ lines }) => lines.map(({ series }) => series)));
  return (
    <Charts view={view} onView={(change) => setView((before) => ({ ...before, ...change }))} span={span}>
      {attempts.length > 1 && (
        <Note>{`Measurements of ${count(attempts.length, "attempt")}. Between them no worker ran the job.`}</Note>
      )}
      <ChartColumns>
        {charts.map((chart) => (
          <Chart key={chart.title} {...chart} />
        ))}
      </ChartColumns>
    </Charts>
  );
}
