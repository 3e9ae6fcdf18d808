import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef } from "react";
import { ErrorNotice } from "@/components/error-notice";
import { sessionQuery, signIn } from "@/features/auth/api";
import { SignInPage } from "@/features/auth/ui/sign-in-page";
import { isPassing } from "@/lib/api/problem";
import { sessionKey } from "@/lib/api/query-client";
import styles from "./sign-in.module.css";

/** Shows the pages to who is signed in, and the sign-in page to who is not. */
export function SessionGate({ linkToken, children }: { linkToken: string | null; children: ReactNode }) {
  const client = useQueryClient();
  const link = useMutation({
    mutationFn: signIn,
    onSuccess: (session) => client.setQueryData(sessionKey, session),
    // The address bar has lost the token already: it must survive a server that is just starting.
    retry: (_, error) => isPassing(error),
    retryDelay: 2000,
  });
  const begun = useRef(false);
  const { mutate } = link;
  useEffect(() => {
    if (!linkToken || begun.current) return;
    begun.current = true;
    mutate(linkToken);
  }, [linkToken, mutate]);

  const waiting = linkToken !== null && (link.isIdle || link.isPending);
  const session = useQuery({
    ...sessionQuery,
    enabled: !waiting,
    refetchInterval: (query) => (query.state.error ? 3000 : false),
  });

  if (session.data) return children;
  const error = waiting ? link.failureReason : session.error;
  if (error && isPassing(error)) {
    return (
      <div className={styles.page}>
        <ErrorNotice error={error} doing="sign in" />
      </div>
    );
  }
  if (waiting || session.isPending) return <div className={styles.page} role="status" aria-label="Signing in" />;
  return <SignInPage refusedLink={link.isError} />;
}
