import { useEffect, useMemo, useSyncExternalStore } from "react";
import { nextItems } from "@/features/annotation/api";
import { type ItemBatch, type QueueView, type Receipt, toItem } from "@/features/annotation/model/item";
import type { Outbox, OutboxView } from "@/features/annotation/model/outbox";
import { outboxOf } from "@/features/annotation/model/outboxes";
import { Queue } from "@/features/annotation/model/queue";
import { noticeSignOut } from "@/lib/api/client";

interface Desk {
  queue: Queue;
  view: QueueView;
  outbox: Outbox<Receipt>;
  sending: OutboxView;
}

/** One annotator's queue, at work while the page is open. */
export function useQueue(round: string, annotator: string): Desk {
  const outbox = outboxOf(round, annotator);
  const queue = useMemo(() => new Queue((limit) => next(round, annotator, limit), outbox), [round, annotator, outbox]);
  useEffect(() => {
    queue.start();
    const stopWatching = watchAttention(queue);
    return () => {
      stopWatching();
      queue.stop();
    };
  }, [queue]);
  useEffect(() => {
    window.addEventListener("online", outbox.retry);
    const warn = (event: BeforeUnloadEvent) => outbox.getView().waiting > 0 && event.preventDefault();
    window.addEventListener("beforeunload", warn);
    return () => {
      window.removeEventListener("online", outbox.retry);
      window.removeEventListener("beforeunload", warn);
    };
  }, [outbox]);
  const view = useSyncExternalStore(queue.subscribe, queue.getView);
  const sending = useSyncExternalStore(outbox.subscribe, outbox.getView);
  return { queue, view, outbox, sending };
}

async function next(round: string, annotator: string, limit: number): Promise<ItemBatch> {
  try {
    const batch = await nextItems(round, annotator, limit);
    return { ...batch, items: batch.items.map(toItem) };
  } catch (error) {
    noticeSignOut(error);
    throw error;
  }
}

/** Stops the clock in a hidden tab, and refreshes the queue when the tab is visible again. */
function watchAttention(queue: Queue): () => void {
  const change = () => {
    if (document.visibilityState === "hidden") {
      queue.watch.stop();
    } else {
      queue.watch.go();
      queue.refresh();
    }
  };
  document.addEventListener("visibilitychange", change);
  return () => document.removeEventListener("visibilitychange", change);
}
