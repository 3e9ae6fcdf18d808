import { Component, type ReactNode } from "react";
import { Button } from "@/components/button";
import { renewLoadables } from "@/components/loadable";
import { ErrorNotice, Notice } from "@/components/notice";
import { isPassing } from "@/lib/api/client";

interface BoundaryProps {
  /** Address of the page, or id of the tab. Another one gets another try. */
  address: string;
  children: ReactNode;
}

/** Shows an error of a page or tab in its place. Code that could not be loaded is tried again. */
export class Boundary extends Component<BoundaryProps, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override componentDidUpdate(before: BoundaryProps) {
    if (before.address !== this.props.address && this.state.error !== null) this.retry();
  }

  retry = (): void => {
    renewLoadables();
    this.setState({ error: null });
  };

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    if (error instanceof Error && isPassing(error))
      return <ErrorNotice error={error} doing="load this page" onRetry={this.retry} />;
    return <Crash error={error} />;
  }
}

function Crash({ error }: { error: unknown }) {
  return (
    <Notice tone="bad" title="This page failed">
      <p>Your jobs are not affected; they run on the server. Reload the page to continue.</p>
      <p>
        <code>{error instanceof Error ? error.message : String(error)}</code>
      </p>
      <Button onClick={() => window.location.reload()}>Reload the page</Button>
    </Notice>
  );
}
