import { useEffect, useRef, useSyncExternalStore } from "react";
import { live } from "@/lib/live/client";
import type { Link } from "@/lib/live/protocol";

/** State of the browser's connection to the event stream. */
export const useLink = (): Link => useSyncExternalStore(live.subscribe, live.getLink);

/** Calls back when something happens in one of the jobs, with the types of the events. */
export function useNews(jobIds: readonly string[], onNews: (types: readonly string[]) => void): void {
  const latest = useRef(onNews);
  useEffect(() => {
    latest.current = onNews;
  });
  const key = jobIds.join(",");
  useEffect(() => {
    if (!key) return;
    return live.watch(key.split(","), (types) => latest.current(types));
  }, [key]);
}
