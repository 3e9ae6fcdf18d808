import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { checkpointsQuery, jobQuery } from "@/features/jobs/api";
import { fetchEvents, fetchMetrics, fetchSampleSteps, streamAddress } from "@/features/run/api";
import { EVENT_TYPES, LOG_TYPES } from "@/features/run/model/event";
import type { Snapshot } from "@/features/run/model/state";
import { type RunServer, RunStore, type RunView } from "@/features/run/model/store";
import { watchPage } from "@/features/run/model/wake";
import type { JobEvent } from "@/lib/api/types";
import { hasEnded } from "@/lib/states";

/** The run's state, live while the page is open. */
export function useRun(id: string): RunView {
  const client = useQueryClient();
  const store = useMemo(() => new RunStore(runServer(id, client)), [id, client]);
  useEffect(() => {
    store.start();
    const stopWatching = watchPage({ onWake: store.reopen, onRest: store.rest });
    return () => {
      stopWatching();
      store.stop();
    };
  }, [store]);
  return useSyncExternalStore(store.subscribe, store.getView);
}

/** How the run's store reaches the API. */
function runServer(id: string, client: QueryClient): RunServer {
  return {
    types: EVENT_TYPES,
    snapshot: () => fetchSnapshot(id),
    open: (seq) => new EventSource(streamAddress(id, seq)),
    recover: async (seq) => {
      // The status comes first: if the run has ended, the events fetched after it are complete.
      const job = await client.query({ ...jobQuery(id), staleTime: 0 });
      return { events: await fetchEvents(id, seq), ended: hasEnded(job.status) };
    },
    onEvents: (events) => refresh(id, client, events),
  };
}

/** The metrics first: the stream goes on from their number, and what is fetched after them is no older. */
async function fetchSnapshot(id: string): Promise<Snapshot> {
  const metrics = await fetchMetrics(id);
  const [log, sampleSteps] = await Promise.all([fetchEvents(id, 0, LOG_TYPES), fetchSampleSteps(id)]);
  return { series: metrics.series, lastSeq: metrics.last_seq, log, sampleSteps };
}

function refresh(id: string, client: QueryClient, events: readonly JobEvent[]): void {
  const types = new Set(events.map((event) => event.type));
  const isNews = [...types].some((type) => type !== "metrics" && type !== "samples");
  if (isNews) void client.invalidateQueries({ queryKey: jobQuery(id).queryKey, exact: true });
  if (types.has("checkpoint_saved")) void client.invalidateQueries({ queryKey: checkpointsQuery(id).queryKey });
}
