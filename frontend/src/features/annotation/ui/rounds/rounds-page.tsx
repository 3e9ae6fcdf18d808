import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { Button } from "@/components/button";
import { ErrorNotice, Notice, StaleBanner } from "@/components/notice";
import { PageHeader } from "@/components/page-header";
import { Skeleton } from "@/components/status";
import { SubmitLink } from "@/components/submit-link";
import { roundsQuery } from "@/features/annotation/api";
import { Leftovers } from "@/features/annotation/ui/queue/sending";
import { RoundTable } from "@/features/annotation/ui/rounds/round-table";
import { paths } from "@/lib/address";

const POLL_MS = 5000;

export function RoundsPage() {
  const query = useInfiniteQuery({ ...roundsQuery, refetchInterval: POLL_MS });
  const rounds = query.data?.pages.flatMap((page) => page.data);
  return (
    <>
      <PageHeader title="Annotate" wide actions={<SubmitLink to={paths.newRound()}>New round</SubmitLink>} />
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

/** The page before there is a round. */
function FirstRound() {
  return (
    <Notice title="No rounds yet">
      <p>
        A round is a queue of comparisons for people: two answers to a prompt, which one is better? Or several, to be
        put in order. Annotators do not see which model wrote an answer, and can use the keyboard alone.
      </p>
      <p>
        The answers come from a dataset, or from checkpoints of your jobs, which write them when the round begins. When
        it is closed, it becomes a dataset version, and a job can go on with it: the reward model is fitted again, then
        PPO continues.
      </p>
      <p>
        <Link to={paths.newRound()}>Begin a round</Link>, or open a finished job and choose “Annotate its completions”.
      </p>
    </Notice>
  );
}
