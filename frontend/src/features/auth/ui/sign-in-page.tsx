import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { Button } from "@/components/button";
import { MarkIcon } from "@/components/icons";
import { signIn } from "@/features/auth/api";
import { sessionKey } from "@/lib/api/query-client";
import { ApiError } from "@/lib/api/problem";
import styles from "./sign-in.module.css";

const LINK_REFUSED = "The token in that link is not valid any more. Paste the current one.";

export function SignInPage({ refusedLink }: { refusedLink: boolean }) {
  const [token, setToken] = useState("");
  const client = useQueryClient();
  const enter = useMutation({
    mutationFn: signIn,
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
            <code>make demo</code> and <code>make up</code> print a sign-in link when the platform has started. The key
            in it begins with <code>prx_</code>; a copy lies in <code>.proximal/api_key</code>.
          </p>
          <p>On a shared server, ask its operator for a key.</p>
        </div>
      </form>
    </main>
  );
}

function explain(error: Error): string {
  if (!(error instanceof ApiError)) return error.message;
  if (error.isPassing) return "The server does not answer. Is the platform running?";
  if (error.status === 401) return "This key is not known here. Check that it was copied whole, from prx_ to its end.";
  return error.message;
}
