import { useQuery } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { useParams } from "react-router";
import { Button } from "@/components/button";
import { PageError } from "@/components/notice";
import { useDocumentTitle } from "@/components/page-header";
import { Skeleton } from "@/components/status";
import { roundQuery } from "@/features/annotation/api";
import { annotatorName } from "@/features/annotation/model/annotator-name";
import { Desk } from "@/features/annotation/ui/queue/desk";
import { paths } from "@/lib/address";
import { readText, writeText } from "@/lib/stored";
import styles from "./queue.module.css";

const NAME = "proximal-annotator";

/** The queue of one round. It asks for the annotator's name first. */
export function QueuePage() {
  const { roundId = "" } = useParams();
  const query = useQuery(roundQuery(roundId));
  const [annotator, setAnnotator] = useState(() => annotatorName(readText(NAME)));
  const [asking, setAsking] = useState(false);
  useDocumentTitle(query.data ? `Annotate ${query.data.name}` : "Annotate");
  const enter = (name: string) => {
    writeText(NAME, name);
    setAnnotator(name);
    setAsking(false);
  };
  if (query.isPending) return <Skeleton rows={4} height="5rem" label="Loading the round" />;
  if (query.isLoadingError) {
    return (
      <PageError
        subject="Round"
        parent={{ to: paths.rounds, label: "Annotate" }}
        error={query.error}
        doing="open this round"
        onRetry={() => void query.refetch()}
      />
    );
  }
  if (!annotator || asking) return <Who name={annotator} onName={enter} />;
  return (
    <Desk key={`${roundId} ${annotator}`} round={query.data} annotator={annotator} onOther={() => setAsking(true)} />
  );
}

interface WhoProps {
  name: string | null;
  onName: (name: string) => void;
}

/** Asked once in this browser: answers are kept by the annotator's name. */
function Who({ name, onName }: WhoProps) {
  const [typed, setTyped] = useState(name ?? "");
  const valid = annotatorName(typed);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (valid) onName(valid);
  };
  return (
    <form className={styles.who} onSubmit={submit}>
      <h1>Who are you?</h1>
      <p>
        Your answers are kept under this name, so that agreement between people can be measured. Use the same one every
        time. This browser remembers it.
      </p>
      <div>
        <input
          type="text"
          aria-label="Your name"
          placeholder="Your name"
          autoComplete="nickname"
          maxLength={60}
          autoFocus
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <Button type="submit" look="primary" disabled={!valid}>
          Start
        </Button>
      </div>
    </form>
  );
}
