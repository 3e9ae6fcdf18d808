import { ErrorNotice } from "@/components/notice";
import { Skeleton } from "@/components/status";

interface PendingProps {
  query: { readonly isError: boolean; readonly error: Error | null; readonly refetch: () => Promise<unknown> };
}

/** Stands for completions that are being loaded, or could not be. */
export function Pending({ query }: PendingProps) {
  if (query.error)
    return <ErrorNotice error={query.error} doing="load these completions" onRetry={() => void query.refetch()} />;
  return <Skeleton rows={5} height="3.5rem" label="Loading completions" />;
}
