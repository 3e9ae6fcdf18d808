import { accepted, answer, api } from "@/api/client";
import { ApiError } from "@/api/problem";
import type { components } from "@/api/schema.gen";
import { forget, remember, remembered } from "@/api/upload-memory";
import { sendPart, sha256, toHex } from "@/api/upload-part";

export type Upload = components["schemas"]["Upload"];

export interface UploadProgress {
  /** Bytes, with those of parts that had arrived before. */
  readonly sent: number;
  readonly total: number;
}

export interface UploadOptions {
  readonly onProgress: (progress: UploadProgress) => void;
  /** Stops it; what has arrived stays, and a later start of the same file goes on from it. */
  readonly signal: AbortSignal;
  /** As soon as there is an id. */
  readonly onOpen?: (upload: Upload) => void;
  /** Id of an open upload of this file. Without it, the one that this browser began with the file. */
  readonly resume?: string;
}

const PARALLEL = 3;

/** Sends a file in parts, several at a time. Answers the complete upload; rejects with ApiError, or what the signal says. */
export async function startUpload(file: File, options: UploadOptions): Promise<Upload> {
  const upload = (await resumed(file, options)) ?? (await created(file, options.signal));
  remember(file, upload.id);
  options.onOpen?.(upload);
  await sendMissing(file, upload, options);
  const path = { upload_id: upload.id };
  const complete = await answer(
    api.POST("/v1/uploads/{upload_id}/complete", { params: { path }, body: {}, signal: options.signal }),
  );
  forget(file);
  return complete;
}

/** The id of an upload that this browser has begun with the file and not finished. */
export const resumable = remembered;

export const cancelUpload = (id: string) =>
  accepted(api.DELETE("/v1/uploads/{upload_id}", { params: { path: { upload_id: id } } }));

const created = (file: File, signal: AbortSignal) =>
  answer(api.POST("/v1/uploads", { body: { filename: file.name, bytes: file.size }, signal }));

/** The upload to go on with, if there is one and what has arrived of it is this file's. */
async function resumed(file: File, { resume, signal }: UploadOptions): Promise<Upload | null> {
  const own = remembered(file);
  const id = resume ?? own;
  if (!id) return null;
  const upload = await found(id, signal);
  if (!upload || upload.bytes !== file.size || (upload.status !== "open" && upload.status !== "complete")) return null;
  const sums = await inParallel(upload.received, (number) => isOurs(file, upload, number, signal));
  if (sums.includes(false)) return null;
  // Without sums, only this browser's own memory says that it is the same file.
  return sums.includes(null) && id !== own ? null : upload;
}

async function found(id: string, signal: AbortSignal): Promise<Upload | null> {
  try {
    return await answer(api.GET("/v1/uploads/{upload_id}", { params: { path: { upload_id: id } }, signal }));
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** Whether a part that has arrived is the file's; null where this browser cannot tell. */
async function isOurs(file: File, upload: Upload, number: number, signal: AbortSignal): Promise<boolean | null> {
  const sum = await sha256(partOf(file, upload, number));
  if (!sum) return null;
  const path = { upload_id: upload.id, number };
  const there = await answer(api.GET("/v1/uploads/{upload_id}/parts/{number}", { params: { path }, signal }));
  return there.sha256 === toHex(sum);
}

async function sendMissing(file: File, upload: Upload, { onProgress, signal }: UploadOptions): Promise<void> {
  const arrived = new Set(upload.received);
  const missing = Array.from({ length: upload.parts ?? 0 }, (_, index) => index + 1).filter((n) => !arrived.has(n));
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const sent = new Map<number, number>();
  const tell = () => {
    const now = [...sent.values()].reduce((sum, bytes) => sum + bytes, upload.bytes_received);
    onProgress({ sent: Math.min(now, file.size), total: file.size });
  };
  tell();
  try {
    await inParallel(missing, async (number) => {
      const part = partOf(file, upload, number);
      const onSent = (bytes: number) => {
        sent.set(number, bytes);
        tell();
      };
      await sendPart(`/v1/uploads/${upload.id}/parts/${number}`, part, onSent, both);
      onSent(part.size);
    });
  } finally {
    stop.abort();
  }
}

const partOf = (file: File, upload: Upload, number: number) =>
  file.slice((number - 1) * upload.part_bytes, number * upload.part_bytes);

/** The results of `action` for each number, PARALLEL at a time; rejects with the first trouble. */
async function inParallel<T>(numbers: readonly number[], action: (number: number) => Promise<T>): Promise<T[]> {
  const queue = numbers[Symbol.iterator]();
  const results: T[] = [];
  const work = async () => {
    for (const number of queue) results.push(await action(number));
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return results;
}
