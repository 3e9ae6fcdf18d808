import { type ReactNode, useEffect, useState, useSyncExternalStore } from "react";
import { Link } from "react-router";
import { Button } from "@/components/button";
import { Notice } from "@/components/notice";
import type { OutboxView } from "@/features/annotation/model/outbox";
import { type AnnotatorOutbox, outboxesToSend } from "@/features/annotation/model/outboxes";
import { paths } from "@/lib/address";
import { count } from "@/lib/format";
import styles from "./queue.module.css";

interface SendingProps {
  /** Annotator and round, where the page shows several. */
  whose?: ReactNode;
  sending: OutboxView;
  onRetry: () => void;
  onDismiss: () => void;
}

/** A message while answers cannot be sent or are refused; otherwise nothing. */
export function Sending({ whose, sending, onRetry, onDismiss }: SendingProps) {
  const { waiting, trouble, refused } = sending;
  return (
    <>
      {trouble && (
        <p className={styles.trouble} role="status">
          <span>
            {whose} {trouble} {count(waiting, "answer")} {waiting === 1 ? "waits" : "wait"} in this browser and{" "}
            {waiting === 1 ? "is" : "are"} sent when the server responds.
          </span>
          <Button onClick={onRetry}>Try now</Button>
        </p>
      )}
      {refused.length > 0 && (
        <Notice tone="bad" title={`${count(refused.length, "answer")} could not be stored`}>
          {whose && <p>{whose}</p>}
          {[...new Set(refused.map(({ message }) => message))].map((message) => (
            <p key={message}>{message}</p>
          ))}
          <Button onClick={onDismiss}>I have read it</Button>
        </Notice>
      )}
    </>
  );
}

/** Sends the answers that closed pages left in this browser, and shows those that fail. */
export function Leftovers() {
  const [found] = useState(outboxesToSend);
  useEffect(() => found.forEach(({ outbox }) => outbox.retry()), [found]);
  return found.map((post) => <Leftover key={`${post.round} ${post.annotator}`} {...post} />);
}

function Leftover({ round, annotator, outbox }: AnnotatorOutbox) {
  const sending = useSyncExternalStore(outbox.subscribe, outbox.getView);
  const whose = (
    <>
      Annotator {annotator}, round <Link to={paths.round(round)}>{round}</Link>.
    </>
  );
  return <Sending whose={whose} sending={sending} onRetry={outbox.retry} onDismiss={outbox.dismiss} />;
}
