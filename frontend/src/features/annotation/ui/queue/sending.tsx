import type { ReactNode } from "react";
import { Button } from "@/components/button";
import { Notice } from "@/components/notice";
import type { OutboxView } from "@/features/annotation/model/outbox";
import { count } from "@/lib/format";
import styles from "./queue.module.css";

interface Props {
  /** Of whom, and in which round, where that is not what the page is about. */
  whose?: ReactNode;
  sending: OutboxView;
  onRetry: () => void;
  onDismiss: () => void;
}

/** Says so when answers do not get through. While they do, there is nothing to say. */
export function Sending({ whose, sending, onRetry, onDismiss }: Props) {
  const { waiting, trouble, refused } = sending;
  return (
    <>
      {trouble && (
        <p className={styles.trouble} role="status">
          <span>
            {whose} {trouble} {count(waiting, "answer")} {waiting === 1 ? "waits" : "wait"} in this browser and{" "}
            {waiting === 1 ? "is" : "are"} sent as soon as it answers.
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
