import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useParams } from "react-router";
import { ErrorNotice } from "@/components/error-notice";
import { useDocumentTitle } from "@/components/page-title";
import { Skeleton } from "@/components/skeleton";
import { roundQuery } from "@/features/annotation/api";
import { asName } from "@/features/annotation/model/name";
import { Desk } from "@/features/annotation/ui/queue/desk";
import { Who } from "@/features/annotation/ui/queue/who";
import { readText, writeText } from "@/lib/stored";

const NAME = "proximal-annotator";

/** The queue of one round, for whoever sits before it. */
export function QueuePage() {
  const { roundId = "" } = useParams();
  const query = useQuery(roundQuery(roundId));
  const [annotator, setAnnotator] = useState(() => asName(readText(NAME)));
  const [asking, setAsking] = useState(false);
  useDocumentTitle(query.data ? `Annotate ${query.data.name}` : "Annotate");
  const enter = (name: string) => {
    writeText(NAME, name);
    setAnnotator(name);
    setAsking(false);
  };
  if (query.isPending) return <Skeleton rows={4} height="5rem" label="Loading the round" />;
  if (query.isLoadingError) {
    return <ErrorNotice error={query.error} doing="open this round" onRetry={() => void query.refetch()} />;
  }
  if (!annotator || asking) return <Who name={annotator} onName={enter} />;
  return (
    <Desk key={`${roundId} ${annotator}`} round={query.data} annotator={annotator} onOther={() => setAsking(true)} />
  );
}
