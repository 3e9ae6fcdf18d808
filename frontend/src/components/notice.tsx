import { type ReactNode, useEffect, useRef } from "react";
import { Button } from "@/components/button";
import { PageHeader, type PageLink } from "@/components/page-header";
import { Prose } from "@/components/text";
import { ApiError, isPassing } from "@/lib/api/client";
import { clock } from "@/lib/format";
import styles from "./notice.module.css";

interface NoticeProps {
  title: string;
  tone?: "neutral" | "bad" | "warn";
  children?: ReactNode;
}

/** A framed message, shown where a page has no content or an error. */
export function Notice({ title, tone = "neutral", children }: NoticeProps) {
  return (
    <section
      className={`${styles.notice} ${tone === "neutral" ? "" : styles[tone]}`}
      role={tone === "neutral" ? undefined : "alert"}
    >
      <h2>{title}</h2>
      {children}
    </section>
  );
}

const RETRY_MS = 5000;

interface ErrorNoticeProps {
  error: Error;
  doing: string;
  /** Left out if the page retries by other means. */
  onRetry?: () => void;
}

/** An error in place of the content of a page, with its cause and the next step. */
export function ErrorNotice({ error, doing, onRetry }: ErrorNoticeProps) {
  const unreachable = isPassing(error);
  useRepeated(unreachable ? onRetry : undefined);
  const requestId = error instanceof ApiError ? error.body.request_id : undefined;
  return (
    <Notice tone="bad" title={unreachable ? "The server does not respond" : `Could not ${doing}`}>
      <p>
        {unreachable ? (
          "Check that the platform is running. This page tries again automatically."
        ) : (
          <Prose text={error.message} />
        )}
      </p>
      {requestId && (
        <p>
          Request id: <code>{requestId}</code>
        </p>
      )}
      {onRetry && !isMissing(error) && <Button onClick={onRetry}>Try again</Button>}
    </Notice>
  );
}

const isMissing = (error: Error): boolean => error instanceof ApiError && error.status === 404;

interface PageErrorProps extends ErrorNoticeProps {
  /** The kind of thing that the page shows, such as "Job". */
  subject: string;
  /** The page above. */
  parent: PageLink;
}

/** An error in place of a whole page, with the way to the page above. */
export function PageError({ subject, parent, ...notice }: PageErrorProps) {
  return (
    <>
      <PageHeader title={isMissing(notice.error) ? `${subject} not found` : subject} parent={parent} />
      <ErrorNotice {...notice} />
    </>
  );
}

/** Calls `action` every few seconds, and when the network is back. */
function useRepeated(action: (() => void) | undefined): void {
  const latest = useRef(action);
  useEffect(() => {
    latest.current = action;
  });
  const isWanted = action !== undefined;
  useEffect(() => {
    if (!isWanted) return;
    const act = () => latest.current?.();
    const timer = setInterval(act, RETRY_MS);
    window.addEventListener("online", act);
    return () => {
      clearInterval(timer);
      window.removeEventListener("online", act);
    };
  }, [isWanted]);
}

/** States that the page shows old data, because the server has not answered since. */
export function StaleBanner({ since }: { since: number }) {
  return (
    <p className={styles.banner} role="status">
      The server does not respond. The page shows the state at {clock(new Date(since).toISOString())}. Trying again…
    </p>
  );
}
