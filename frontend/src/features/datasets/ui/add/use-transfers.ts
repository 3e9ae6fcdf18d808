import { useSyncExternalStore } from "react";
import { uploadsKey } from "@/features/datasets/api/imports";
import { cancelUpload, startUpload } from "@/features/datasets/api/upload";
import { forget } from "@/features/datasets/api/upload-memory";
import { type Transfer, Transfers } from "@/features/datasets/model/transfers";
import { queryClient } from "@/lib/api/query-client";

/** One for the whole dashboard, so that leaving the page does not end an upload. */
export const transfers = new Transfers({ send: startUpload, discard, now: Date.now });

async function discard(uploadId: string, file: File): Promise<void> {
  await cancelUpload(uploadId);
  forget(file);
  await queryClient.invalidateQueries({ queryKey: uploadsKey });
}

export const addFiles = (files: readonly File[]) => files.forEach((file) => transfers.add(file));

const subscribe = (listener: () => void): (() => void) => {
  const stop = transfers.subscribe(listener);
  window.addEventListener("beforeunload", warn);
  return stop;
};

/** Closing the tab cuts an upload off. It can be gone on with, but that is a nuisance. */
function warn(event: BeforeUnloadEvent): void {
  if (transfers.busy) event.preventDefault();
}

export const useTransfers = (): readonly Transfer[] => useSyncExternalStore(subscribe, transfers.get);
