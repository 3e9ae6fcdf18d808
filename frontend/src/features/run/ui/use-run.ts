import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { runServer } from "@/features/run/model/run-server";
import { RunStore, type RunView } from "@/features/run/model/store";
import { watchPage } from "@/features/run/model/wake";

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
