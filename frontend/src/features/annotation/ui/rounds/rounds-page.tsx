import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { Button, buttonClass } from "@/components/button";
import { ErrorNotice } from "@/components/error-notice";
import { PageTitle } from "@/components/page-title";
import { Skeleton } from "@/components/skeleton";
import { StaleBanner } from "@/components/stale-banner";
import { roundsQuery } from "@/features/annotation/api";
import { Leftovers } from "@/features/annotation/ui/queue/leftovers";
import { FirstRound } from "@/features/annotation/ui/rounds/first-round";
import { RoundTable } from "@/features/annotation/ui/rounds/round-table";
import { paths } from "@/lib/paths";

const POLL_MS = 5000;

export function RoundsPage() {
  const query = useInfiniteQuery({ ...roundsQuery, refetchInterval: POLL_MS });
  const rounds = query.data?.pages.flatMap((page) => page.data);
  return (
    <>
      <PageTitle title="Annotate">
        <Link className={buttonClass("primary")} to={paths.newRound()}>
          New round
        </Link>
      </PageTitle>
      <Leftovers />
      {query.isError && rounds && <StaleBanner since={query.dataUpdatedAt} />}
      {query.isPending && <Skeleton rows={4} height="2.75rem" label="Loading rounds" />}
      {query.isError && !rounds && (
        <ErrorNotice error={query.error} doing="load the rounds" onRetry={() => void query.refetch()} />
      )}
      {rounds?.length === 0 && <FirstRound />}
      {rounds && rounds.length > 0 && <RoundTable rounds={rounds} />}
      {query.hasNextPage && (
        <p style={{ padding: "1rem 0" }}>
          <Button onClick={() => void query.fetchNextPage()} disabled={query.isFetchingNextPage}>
            Show older rounds
          </Button>
        </p>
      )}
    </>
  );
}
