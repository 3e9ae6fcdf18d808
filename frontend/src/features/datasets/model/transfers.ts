import { useSyncExternalStore } from "react";
import { uploadsKey } from "@/features/datasets/api/imports";
import { cancelUpload, forget, startUpload } from "@/features/datasets/api/upload";
import { queryClient } from "@/lib/api/client";

type TransferState = "sending" | "paused" | "failed" | "done";

/** A file that is being sent to the server. */
export interface Transfer {
  readonly key: number;
  readonly file: File;
  readonly state: TransferState;
  /** Bytes that have arrived. */
  readonly sent: number;
  /** The parts on the server are being compared with the file. */
  readonly checking: boolean;
  /** Bytes a second since it was last started; null until there is something to measure. */
  readonly rate: number | null;
  /** Null until the server has given it an id. */
  readonly uploadId: string | null;
  readonly error: Error | null;
}

interface SendOptions {
  readonly onProgress: (progress: { sent: number; checking: boolean }) => void;
  readonly onOpen: (upload: { id: string }) => void;
  readonly signal: AbortSignal;
  readonly resume?: string;
}

/** Functions that send a file and that delete an upload. */
export interface Carrier {
  readonly send: (file: File, options: SendOptions) => Promise<{ id: string }>;
  readonly discard: (uploadId: string, file: File) => Promise<unknown>;
  readonly now: () => number;
}

/** The files that are being sent. A transfer continues while the user opens other pages of the dashboard. */
export class Transfers {
  private list: readonly Transfer[] = [];
  private nextKey = 1;
  private readonly aborts = new Map<number, AbortController>();
  private readonly listeners = new Set<() => void>();

  constructor(private readonly carrier: Carrier) {}

  get = (): readonly Transfer[] => this.list;

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  get busy(): boolean {
    return this.list.some((transfer) => transfer.state === "sending");
  }

  /** Starts a transfer. A file that is on the list already continues its transfer. */
  add(file: File): void {
    const known = this.list.find((transfer) => isSame(transfer.file, file));
    if (known) this.resume(known.key);
    else this.start(file);
  }

  private start(file: File): void {
    const key = this.nextKey++;
    this.set([...this.list, { ...FRESH, key, file }]);
    void this.run(key);
  }

  /** Stops a transfer. Its parts stay on the server. */
  pause(key: number): void {
    this.patch(key, { state: "paused", rate: null });
    this.aborts.get(key)?.abort();
  }

  resume(key: number): void {
    const state = this.find(key)?.state;
    if (state === "sending" || state === "done") return;
    this.patch(key, { state: "sending", error: null });
    void this.run(key);
  }

  /** Stops the transfer and deletes its upload. If that fails, the transfer stays on the list with the error. */
  async cancel(key: number): Promise<void> {
    const transfer = this.find(key);
    if (!transfer) return;
    this.pause(key);
    try {
      if (transfer.uploadId) await this.carrier.discard(transfer.uploadId, transfer.file);
      this.dismiss(key);
    } catch (error) {
      this.patch(key, { state: "failed", error: asError(error) });
    }
  }

  /** Removes a transfer from the list, and changes nothing on the server. */
  dismiss(key: number): void {
    this.set(this.list.filter((transfer) => transfer.key !== key));
  }

  private async run(key: number): Promise<void> {
    const transfer = this.find(key);
    if (!transfer) return;
    const abort = new AbortController();
    this.aborts.set(key, abort);
    const meter = new Meter(this.carrier.now);
    try {
      const upload = await this.carrier.send(transfer.file, {
        onProgress: ({ sent, checking }) => {
          if (!abort.signal.aborted) this.patch(key, { sent, checking, rate: checking ? null : meter.rate(sent) });
        },
        onOpen: ({ id }) => this.patch(key, { uploadId: id }),
        signal: abort.signal,
        ...(transfer.uploadId && { resume: transfer.uploadId }),
      });
      this.patch(key, { state: "done", sent: transfer.file.size, uploadId: upload.id, rate: null });
    } catch (error) {
      // `pause` and `cancel` have set the state already.
      if (abort.signal.aborted) return;
      this.patch(key, { state: "failed", rate: null, error: asError(error) });
    }
  }

  private find(key: number): Transfer | undefined {
    return this.list.find((transfer) => transfer.key === key);
  }

  private patch(key: number, change: Partial<Transfer>): void {
    this.set(this.list.map((transfer) => (transfer.key === key ? { ...transfer, ...change } : transfer)));
  }

  private set(list: readonly Transfer[]): void {
    this.list = list;
    this.listeners.forEach((listener) => listener());
  }
}

const FRESH = { state: "sending", sent: 0, checking: false, rate: null, uploadId: null, error: null } as const;

const isSame = (one: File, other: File): boolean =>
  one.name === other.name && one.size === other.size && one.lastModified === other.lastModified;

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

const SETTLE_MS = 1000;

/** Bytes a second since the first report. Bytes that the server had before are not counted. */
class Meter {
  private first: { sent: number; time: number } | null = null;

  constructor(private readonly now: () => number) {}

  rate(sent: number): number | null {
    this.first ??= { sent, time: this.now() };
    const elapsed = this.now() - this.first.time;
    return elapsed < SETTLE_MS ? null : ((sent - this.first.sent) / elapsed) * 1000;
  }
}

/** Shared by all pages, so that leaving a page does not end an upload. */
export const transfers = new Transfers({ send: startUpload, discard, now: Date.now });

async function discard(uploadId: string, file: File): Promise<void> {
  await cancelUpload(uploadId);
  forget(file);
  await queryClient.invalidateQueries({ queryKey: uploadsKey });
}

export const addFiles = (files: readonly File[]) => files.forEach((file) => transfers.add(file));

const subscribe = (listener: () => void): (() => void) => {
  const stop = transfers.subscribe(listener);
  window.addEventListener("beforeunload", confirmClosing);
  return stop;
};

/** Asks before the tab is closed: it interrupts an upload, which the user then has to resume by hand. */
function confirmClosing(event: BeforeUnloadEvent): void {
  if (transfers.busy) event.preventDefault();
}

export const useTransfers = (): readonly Transfer[] => useSyncExternalStore(subscribe, transfers.get);
