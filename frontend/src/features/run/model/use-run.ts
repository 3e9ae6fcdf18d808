import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { checkpointsQuery, jobQuery } from "@/features/jobs/api";
import { fetchEvents, fetchEventTime, fetchSampleSteps, takeMetrics } from "@/features/run/api";
import { isKnown, LOG_TYPES } from "@/features/run/model/event";
import type { Snapshot } from "@/features/run/model/state";
import { type RunServer, RunStore, type RunView } from "@/features/run/model/store";
import type { JobEvent } from "@/lib/api/types";
import { metricReferenceQuery } from "@/lib/labels";
import { live } from "@/lib/live/client";
import { onFrame } from "@/lib/live/frame";

/** The run's state, live while the page is open. `isOver`: the job's status is one that ends it. */
export function useRun(id: string, isOver: boolean): RunView {
  const client = useQueryClient();
  const store = useMemo(() => new RunStore(runServer(id, client)), [id, client]);
  useEffect(() => {
    store.start();
    // The charts need it as soon as the series are there.
    void client.query(metricReferenceQuery).catch(() => undefined);
    return store.stop;
  }, [store, client]);
  useEffect(() => {
    if (!isOver) store.reopen();
  }, [store, isOver]);
  return useSyncExternalStore(store.subscribe, store.getView);
}

/** How the run's store reaches the API. */
function runServer(id: string, client: QueryClient): RunServer {
  const refresh = refresher(id, client);
  return {
    snapshot: async () => {
      // The charts need it at once: without it, more of them would appear later and move the page.
      const [snapshot] = await Promise.all([
        fetchSnapshot(id, client),
        client.query(metricReferenceQuery).catch(() => null),
      ]);
      return snapshot;
    },
    follow: (seq, { onEvents, onDone }) =>
      live.follow(id, seq, { onEvents: (events) => onEvents(events.filter(isKnown)), onDone }),
    onEvents: refresh,
    schedule: onFrame,
  };
}

/** The metrics first: the events go on from their number, and what is fetched after them is no older. */
async function fetchSnapshot(id: string, client: QueryClient): Promise<Snapshot> {
  const metrics = await takeMetrics(id, client);
  const [log, sampleSteps, lastEventAt] = await Promise.all([
    fetchEvents(id, 0, LOG_TYPES),
    fetchSampleSteps(id),
    fetchEventTime(id, metrics.last_seq),
  ]);
  return { series: metrics.series, lastSeq: metrics.last_seq, log, sampleSteps, lastEventAt };
}

/** The share of the job and the remaining time come from the job itself. It is fetched at most this often for them. */
const PROGRESS_MS = 5000;

function refresher(id: string, client: QueryClient): (events: readonly JobEvent[]) => void {
  let fetchedAt = 0;
  return (events) => {
    const types = new Set(events.map((event) => event.type));
    const isNews = [...types].some((type) => type !== "metrics" && type !== "samples");
    if (isNews || Date.now() - fetchedAt > PROGRESS_MS) {
      fetchedAt = Date.now();
      void client.invalidateQueries({ queryKey: jobQuery(id).queryKey, exact: true });
    }
    if (types.has("checkpoint_saved") || types.has("checkpoint_damaged"))
      void client.invalidateQueries({ queryKey: checkpointsQuery(id).queryKey });
  };
}
