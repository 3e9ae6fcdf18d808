import { useQuery } from "@tanstack/react-query";
import { jobBatchQuery } from "@/features/jobs/api";
import type { Job } from "@/lib/api/types";
import { hasEnded } from "@/lib/states";

/** While a run goes on. */
const POLL_MS = 10_000;

const NONE: readonly Job[] = [];

/**
 * The compared runs that exist, in the order of the ids, in one request. While a run is added or removed, the others stay.
 * `missing`: the ids of which there is no run.
 */
export function useComparedRuns(ids: readonly string[]) {
  const { data, error, isPending, refetch } = useQuery({
    ...jobBatchQuery(ids),
    placeholderData: (before) => before && { ...before, jobs: before.jobs.filter(({ id }) => ids.includes(id)) },
    refetchInterval: ({ state }) => (state.data?.jobs.every(({ status }) => hasEnded(status)) ? false : POLL_MS),
  });
  return {
    jobs: data?.jobs ?? NONE,
    missing: ids.filter((id) => data?.missing.includes(id)),
    error,
    isPending,
    retry: () => void refetch(),
  };
}
