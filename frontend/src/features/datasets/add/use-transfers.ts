import { useSyncExternalStore } from "react";
import { cancelUpload, startUpload } from "@/api/upload";
import { Transfers, type Transfer } from "@/features/datasets/add/transfers";

/** One for the whole dashboard, so that leaving the page does not end an upload. */
export const transfers = new Transfers({ send: startUpload, discard: cancelUpload, now: Date.now });

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
