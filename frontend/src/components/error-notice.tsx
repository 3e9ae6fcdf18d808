import { ApiError } from "@/api/problem";
import { Button } from "@/components/button";
import { Notice } from "@/components/notice";

interface Props {
  error: Error;
  doing: string;
  onRetry?: () => void;
}

/** An error that leaves the page with nothing to show: what failed, why, and what to do. */
export function ErrorNotice({ error, doing, onRetry }: Props) {
  const unreachable = error instanceof ApiError && error.isPassing;
  const requestId = error instanceof ApiError ? error.body.request_id : undefined;
  return (
    <Notice tone="bad" title={unreachable ? "The server does not answer" : `Could not ${doing}`}>
      <p>{unreachable ? "Is the platform running? This page tries again by itself." : error.message}</p>
      {requestId && (
        <p>
          Request id: <code>{requestId}</code>
        </p>
      )}
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </Notice>
  );
}
