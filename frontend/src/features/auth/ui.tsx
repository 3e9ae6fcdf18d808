import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, Suspense, useEffect, useRef } from "react";
import { loadable } from "@/components/loadable";
import { ErrorNotice } from "@/components/notice";
import { sessionQuery, signInByCode } from "@/features/auth/api";
import { isPassing, refusedCredential, sessionKey } from "@/lib/api/client";
import { openViewSettings } from "@/lib/view-settings";
import styles from "./sign-in.module.css";

/** A signed-in user does not load the code of the form. */
const SignInPage = loadable(async () => (await import("@/features/auth/sign-in-page")).SignInPage);

/** Shows the pages to a signed-in user, and otherwise the sign-in page. */
export function SessionGate({ linkCode, children }: { linkCode: string | null; children: ReactNode }) {
  const client = useQueryClient();
  const link = useMutation({
    mutationFn: signInByCode,
    meta: refusedCredential,
    onSuccess: (session) => client.setQueryData(sessionKey, session),
    // The address bar no longer holds the code, so the sign-in is repeated while the server starts.
    retry: (_, error) => isPassing(error),
    retryDelay: 2000,
  });
  const begun = useRef(false);
  const { mutate } = link;
  useEffect(() => {
    if (!linkCode || begun.current) return;
    begun.current = true;
    mutate(linkCode);
  }, [linkCode, mutate]);

  const waiting = linkCode !== null && (link.isIdle || link.isPending);
  const session = useQuery({
    ...sessionQuery,
    enabled: !waiting,
    refetchInterval: (query) => (query.state.error ? 3000 : false),
  });

  if (session.data) {
    openViewSettings(session.data.owner); // before a page reads one
    return children;
  }
  const error = waiting ? link.failureReason : session.error;
  if (error && isPassing(error)) {
    return (
      <div className={styles.page}>
        <ErrorNotice error={error} doing="sign in" />
      </div>
    );
  }
  // The same bar as in index.html, so that nothing flashes before the page comes.
  const boot = (
    <div className="boot" role="status" aria-label="Signing in">
      Proximal
    </div>
  );
  if (waiting || session.isPending) return boot;
  return (
    <Suspense fallback={boot}>
      <SignInPage refusedLink={link.isError} />
    </Suspense>
  );
}
