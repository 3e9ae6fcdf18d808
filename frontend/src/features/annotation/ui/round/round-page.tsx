import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import { Card, Note } from "@/components/card";
import { ErrorNotice, Notice, PageError, StaleBanner } from "@/components/notice";
import { Announce, ProgressBar, Skeleton } from "@/components/status";
import { progressQuery, roundQuery } from "@/features/annotation/api";
import { isMoving, shareAnswered } from "@/features/annotation/model/round";
import { AnnotatorTable } from "@/features/annotation/ui/round/annotator-table";
import { Disagreements } from "@/features/annotation/ui/round/disagreements";
import { Figures } from "@/features/annotation/ui/round/figures";
import { Result } from "@/features/annotation/ui/round/result";
import { RoundHeader } from "@/features/annotation/ui/round/round-header";
import { paths } from "@/lib/address";
import type { Round, RoundProgress } from "@/lib/api/types";
import { count, percent } from "@/lib/format";
import styles from "./round.module.css";

const POLL_MS = 5000;
const MOVING_MS = 1000;

export function RoundPage() {
  const { roundId = "" } = useParams();
  const query = useQuery({
    ...roundQuery(roundId),
    refetchInterval: ({ state }) => (state.data && isMoving(state.data) ? MOVING_MS : POLL_MS),
  });
  const round = query.data;
  if (query.isPending) return <Skeleton rows={6} height="2.5rem" label="Loading the round" />;
  if (!round) {
    return (
      <PageError
        subject="Round"
        parent={{ to: paths.rounds, label: "Annotate" }}
        error={query.error}
        doing="show this round"
        onRetry={() => void query.refetch()}
      />
    );
  }
  return (
    <>
      {query.isError && <StaleBanner since={query.dataUpdatedAt} />}
      <RoundHeader round={round} />
      <Body round={round} />
    </>
  );
}

function Body({ round }: { round: Round }) {
  if (round.status === "preparing") return <Moving round={round} title="Being prepared" />;
  if (round.status === "failed") {
    return (
      <Notice tone="bad" title="The round could not be prepared">
        <p>{round.error?.message}</p>
      </Notice>
    );
  }
  return (
    <>
      {round.status === "closing" && <Moving round={round} title="Its answers are being written into a dataset" />}
      {round.error && (
        <Notice tone="bad" title="The round could not be closed">
          <p>{round.error.message}</p>
        </Notice>
      )}
      {round.status === "closed" && <Result round={round} />}
      <Answers round={round} />
      <Findings round={round} />
    </>
  );
}

/** The server's present work on the round, with its progress. */
function Moving({ round, title }: { round: Round; title: string }) {
  return (
    <Card aria-label={title} title={title}>
      <Announce text={title} />
      <Note>{round.progress?.note ?? "Waiting for the worker that handles data…"}</Note>
      <ProgressBar fraction={round.progress?.fraction ?? 0} label={title} />
    </Card>
  );
}

function Answers({ round }: { round: Round }) {
  const share = shareAnswered(round);
  const { items, answers, answers_wanted: wanted, complete } = round;
  return (
    <section className={styles.answers} aria-label="Answers">
      <p>
        <b>
          {answers.toLocaleString("en-US")} of {count(wanted, "answer")}
        </b>
        <span>
          {complete.toLocaleString("en-US")} of {count(items, "item")} complete
        </span>
        <span className={styles.percent}>{percent(share)}</span>
      </p>
      <ProgressBar fraction={share} label="Answers" tone={share === 1 ? "good" : "active"} />
    </section>
  );
}

/** A reward model may be chosen for a closed round too. */
const isScoring = (progress: RoundProgress | undefined): boolean =>
  progress?.reward_model?.status === "queued" || progress?.reward_model?.status === "scoring";

function Findings({ round }: { round: Round }) {
  const query = useQuery({
    ...progressQuery(round.id),
    refetchInterval: ({ state }) => (round.status === "closed" && !isScoring(state.data) ? false : POLL_MS),
  });
  if (!query.data) {
    if (!query.isError) return <Skeleton rows={3} height="5rem" label="Loading the figures" />;
    return <ErrorNotice error={query.error} doing="load the figures" onRetry={() => void query.refetch()} />;
  }
  return (
    <>
      <Figures round={round} progress={query.data} />
      <AnnotatorTable annotators={query.data.annotators} />
      {query.data.alpha_items > 0 && <Disagreements round={round} />}
    </>
  );
}
