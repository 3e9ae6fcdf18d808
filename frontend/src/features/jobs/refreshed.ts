import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { jobsKey, newestJobQuery } from "@/features/jobs/api";
import type { JobSummary } from "@/lib/api/types";
import { useNews } from "@/lib/live/use-live";
import { hasEnded } from "@/lib/states";

/** Steps of running jobs refresh a list at most this often. A changed state refreshes it at once. */
const STEP_MS = 3000;

/** How soon a list shows a job that was submitted elsewhere. */
const NEWEST_MS = 3000;

/** Fetches the lists of jobs again when a job was submitted, or something happens in one of those that have not ended. */
export function useRefreshedJobs(jobs: readonly Pick<JobSummary, "id" | "status">[]): void {
  const client = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const refresh = () => {
    clearTimeout(timer.current);
    timer.current = undefined;
    void client.invalidateQueries({ queryKey: [...jobsKey, "list"] });
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  const active = jobs.filter((job) => !hasEnded(job.status)).map((job) => job.id);
  const newest = useQuery({ ...newestJobQuery, refetchInterval: NEWEST_MS }).data;
  const known = useRef(newest);
  useEffect(() => {
    if (known.current !== undefined && known.current !== newest)
      void client.invalidateQueries({ queryKey: [...jobsKey, "list"] });
    known.current = newest;
  }, [client, newest]);
  useNews(active, (types) => {
    const isStep = types.length > 0 && types.every((type) => type === "metrics" || type === "samples");
    if (!isStep) refresh();
    else timer.current ??= setTimeout(refresh, STEP_MS);
  });
}
