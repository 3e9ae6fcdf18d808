import { Component, type ComponentType, lazy, type ReactNode } from "react";
import { BrowserRouter, Link, Route, Routes, useLocation } from "react-router";
import { Shell } from "@/app/shell";
import { Button } from "@/components/button";
import { Notice } from "@/components/notice";
import { PageHeader } from "@/components/page-header";
import { JobsPage } from "@/features/jobs/ui/jobs-page";
import { paths } from "@/lib/address";

/** A page whose code is loaded when it is first opened. */
function page(load: () => Promise<ComponentType>): ReactNode {
  const Page = lazy(async () => ({ default: await load() }));
  return <Page />;
}

const PAGES = [
  { path: "/jobs/:jobId", element: page(async () => (await import("@/features/run/ui/run-page")).RunPage) },
  {
    path: "/datasets",
    element: page(async () => (await import("@/features/datasets/ui/list/datasets-page")).DatasetsPage),
  },
  { path: "/datasets/new", element: page(async () => (await import("@/features/datasets/ui/add/add-page")).AddPage) },
  {
    path: "/datasets/:datasetId",
    element: page(async () => (await import("@/features/datasets/ui/page/dataset-page")).DatasetPage),
  },
  {
    path: "/annotate",
    element: page(async () => (await import("@/features/annotation/ui/rounds/rounds-page")).RoundsPage),
  },
  {
    path: "/annotate/new",
    element: page(async () => (await import("@/features/annotation/ui/create/new-round-page")).NewRoundPage),
  },
  {
    path: "/annotate/:roundId",
    element: page(async () => (await import("@/features/annotation/ui/round/round-page")).RoundPage),
  },
  {
    path: "/annotate/:roundId/queue",
    element: page(async () => (await import("@/features/annotation/ui/queue/queue-page")).QueuePage),
  },
];

/** The pages by address. */
export function Router() {
  return (
    <BrowserRouter>
      <Guarded>
        <Routes>
          <Route element={<Shell />}>
            <Route path="/" element={<JobsPage />} />
            {PAGES.map(({ path, element }) => (
              <Route key={path} path={path} element={element} />
            ))}
            <Route path="*" element={<NotFound />} />
          </Route>
        </Routes>
      </Guarded>
    </BrowserRouter>
  );
}

function Guarded({ children }: { children: ReactNode }) {
  return <CrashBoundary address={useLocation().pathname}>{children}</CrashBoundary>;
}

interface CrashBoundaryProps {
  /** Another address gets another try. */
  address: string;
  children: ReactNode;
}

/** Shows an error of the dashboard itself in place of the pages. */
class CrashBoundary extends Component<CrashBoundaryProps, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override componentDidUpdate(before: CrashBoundaryProps) {
    if (before.address !== this.props.address && this.state.error !== null) this.setState({ error: null });
  }

  override render() {
    return this.state.error === null ? this.props.children : <Crash error={this.state.error} />;
  }
}

function Crash({ error }: { error: unknown }) {
  return (
    <main style={{ padding: "2rem 1rem", maxWidth: "48rem", margin: "0 auto" }}>
      <Notice tone="bad" title="The dashboard failed">
        <p>Your jobs are not affected; they run on the server. Reload the page to continue.</p>
        <p>
          <code>{error instanceof Error ? error.message : String(error)}</code>
        </p>
        <Button onClick={() => window.location.reload()}>Reload the page</Button>
      </Notice>
    </main>
  );
}

function NotFound() {
  return (
    <>
      <PageHeader title="Page not found" />
      <Notice title="The dashboard has no page at this address">
        <p>
          Go to the <Link to={paths.jobs}>jobs</Link>, the <Link to={paths.datasets}>datasets</Link> or the{" "}
          <Link to={paths.rounds}>annotation rounds</Link>.
        </p>
      </Notice>
    </>
  );
}
