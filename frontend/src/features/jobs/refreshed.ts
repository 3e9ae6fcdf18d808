import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { jobsKey } from "@/features/jobs/api";
import type { JobSummary } from "@/lib/api/types";
import { useNews } from "@/lib/live/use-live";
import { hasEnded } from "@/lib/states";

/** Steps of running jobs refresh a list at most this often. A changed state refreshes it at once. */
const STEP_MS = 3000;

/** Fetches the lists of jobs again when something happens in one of the jobs that have not ended. */
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
  useNews(active, (types) => {
    const isStep = types.length > 0 && types.every((type) => type === "metrics" || type === "samples");
    if (!isStep) refresh();
    else timer.current ??= setTimeout(refresh, STEP_MS);
  });
}
