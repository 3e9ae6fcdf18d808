import { NO_VALUE } from "@/lib/format";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/components/button";
import { Note } from "@/components/card";
import { ErrorNotice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { disagreedQuery } from "@/features/annotation/api";
import { turnsOf } from "@/features/annotation/model/item";
import type { AnnotationResult, Round } from "@/lib/api/types";
import styles from "./round.module.css";

/** Items that people answered differently: where the instructions are unclear, it shows here. */
export function Disagreements({ round }: { round: Round }) {
  const [open, setOpen] = useState(false);
  return (
    <details className={styles.disagreed} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Where annotators disagree</summary>
      {open && <List id={round.id} />}
    </details>
  );
}

function List({ id }: { id: string }) {
  const query = useInfiniteQuery(disagreedQuery(id));
  const items = query.data?.pages.flatMap((page) => page.data);
  if (!items) {
    if (!query.isError) return <Skeleton rows={3} height="4rem" label="Loading items" />;
    return <ErrorNotice error={query.error} doing="load the items" onRetry={() => void query.refetch()} />;
  }
  if (!items.length) return <Note>Nowhere so far.</Note>;
  return (
    <>
      <ol className={styles.items}>
        {items.map((item) => (
          <ItemCard key={item.id} item={item} />
        ))}
      </ol>
      {query.hasNextPage && <Button onClick={() => void query.fetchNextPage()}>Show more</Button>}
    </>
  );
}

function ItemCard({ item }: { item: AnnotationResult }) {
  return (
    <li>
      {turnsOf(item.prompt).map(({ role, text }, index) => (
        <p key={index} className={styles.asked}>
          {role && <b>{role}: </b>}
          {text}
        </p>
      ))}
      <div className={styles.sides}>
        {item.completions.map((text, index) => (
          <div key={index}>
            <p className={styles.voters}>
              <b>{String.fromCharCode(65 + index)}</b>
              <span>{votersFor(item, index)}</span>
            </p>
            <p className={styles.text}>{text}</p>
          </div>
        ))}
      </div>
      <p className={styles.others}>{others(item)}</p>
    </li>
  );
}

const LETTERS = ["a", "b"];

/** Who preferred this one; of a ranking, which rank each gave it. */
function votersFor({ answers }: AnnotationResult, index: number): string {
  return answers
    .flatMap(({ annotator, choice, ranks }) => {
      if (ranks) return [`${annotator} ${ranks[index] ?? NO_VALUE}`];
      return choice === LETTERS[index] ? [annotator] : [];
    })
    .join(", ");
}

function others({ answers }: AnnotationResult): string {
  const of = (choice: string) =>
    answers.filter((one) => !one.ranks && one.choice === choice).map((one) => one.annotator);
  const [ties, skips] = [of("tie"), of("skip")];
  return [ties.length ? `Tie: ${ties.join(", ")}` : "", skips.length ? `Skipped: ${skips.join(", ")}` : ""]
    .filter(Boolean)
    .join(" · ");
}
