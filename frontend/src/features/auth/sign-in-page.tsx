import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { Button } from "@/components/button";
import { MarkIcon } from "@/components/icons";
import { signIn } from "@/features/auth/api";
import { ApiError, refusedCredential, sessionKey } from "@/lib/api/client";
import styles from "./sign-in.module.css";

const LINK_REFUSED =
  "This sign-in link is not valid any more: it works once, for a few minutes. Run the command “proximal open” for a new link, or enter an API key.";

/** The form for an API key. `refusedLink`: a one-time link was tried and is not valid. */
export function SignInPage({ refusedLink }: { refusedLink: boolean }) {
  const [token, setToken] = useState("");
  const client = useQueryClient();
  const enter = useMutation({
    mutationFn: signIn,
    meta: refusedCredential,
    onSuccess: (session) => client.setQueryData(sessionKey, session),
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    enter.mutate(token.trim());
  };
  const message = enter.error ? explain(enter.error) : refusedLink && !enter.isPending ? LINK_REFUSED : null;
  return (
    <main className={styles.page}>
      <form className={styles.card} onSubmit={submit}>
        <h1>
          <MarkIcon /> Proximal
        </h1>
        <label htmlFor="token">API key</label>
        <input
          id="token"
          type="password"
          autoComplete="current-password"
          spellCheck={false}
          placeholder="prx_…"
          value={token}
          onChange={(event) => setToken(event.target.value)}
          aria-invalid={message !== null}
          aria-describedby="token-help token-error"
          autoFocus
          required
        />
        <p id="token-error" className={styles.error} role="alert">
          {message}
        </p>
        <Button type="submit" look="primary" disabled={enter.isPending || !token.trim()}>
          {enter.isPending ? "Signing in…" : "Sign in"}
        </Button>
        <div id="token-help" className={styles.help}>
          <p>
            <code>proximal open</code> makes a link that signs you in once. On the machine of the platform, the file{" "}
            <code>.proximal/api_key</code> holds the key. It begins with <code>prx_</code>.
          </p>
          <p>On a shared server, ask its operator for a key.</p>
        </div>
      </form>
    </main>
  );
}

function explain(error: Error): string {
  if (!(error instanceof ApiError)) return error.message;
  if (error.isPassing) return "The server does not respond. Check that the platform is running.";
  if (error.status === 401)
    return "The platform does not accept this key. Check that you copied all of it, from prx_ to its end.";
  return error.message;
}
