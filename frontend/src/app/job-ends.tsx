import { queryOptions, useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { jobQuery, jobsKey } from "@/features/jobs/api";
import { paths } from "@/lib/address";
import { answer, api, queryClient } from "@/lib/api/client";
import type { JobSummary } from "@/lib/api/types";
import { useNews } from "@/lib/live/use-live";
import { jobName } from "@/lib/names";

const OPEN: JobSummary["status"][] = ["queued", "starting", "running", "pausing", "cancelling"];
/** Jobs whose end is announced: the newest ones, as many as a stream may have. */
const MOST = 50;

const openJobsQuery = queryOptions({
  queryKey: [...jobsKey, "list", "open"],
  queryFn: async () => (await answer(api.GET("/v1/jobs", { params: { query: { status: OPEN, limit: MOST } } }))).data,
});

/** Announces by a browser notification that a job has ended or is paused. */
export function JobEnds() {
  const { data, refetch } = useQuery(openJobsQuery);
  const before = useRef<readonly JobSummary[]>([]);
  useNews(
    (data ?? []).map(({ id }) => id),
    (types) => {
      if (types.includes("status_changed") || types.includes("done")) void refetch();
    },
  );
  useEffect(() => {
    if (!data) return;
    const open = new Set(data.map(({ id }) => id));
    for (const { id } of before.current) if (!open.has(id)) void announce(id);
    before.current = data;
  }, [data]);
  return null;
}

async function announce(id: string): Promise<void> {
  const job = await queryClient.query({ ...jobQuery(id), staleTime: 0 }).catch(() => null);
  if (!job) return;
  // Several tabs announce the same: a notification with the same tag takes the place of the one before.
  const shown = new Notification(`${jobName(job)}: ${job.status}`, {
    body: job.status_reason,
    tag: `${id} ${job.status}`,
  });
  shown.onclick = () => {
    window.focus();
    window.location.assign(paths.job(id));
  };
}
