import { useRouteError } from "react-router";
import { Button } from "@/components/button";
import { Notice } from "@/components/notice";

/** A mistake in the dashboard itself. The run goes on without it. */
export function Crash() {
  const error = useRouteError();
  return (
    <main style={{ padding: "2rem 1rem", maxWidth: "48rem", margin: "0 auto" }}>
      <Notice tone="bad" title="The dashboard made a mistake">
        <p>Your jobs are not affected; they run on the server. Loading the page again usually helps.</p>
        <p>
          <code>{error instanceof Error ? error.message : String(error)}</code>
        </p>
        <Button onClick={() => window.location.reload()}>Load the page again</Button>
      </Notice>
    </main>
  );
}
