import { patiently } from "@/features/datasets/api/patience";
import { canSum, sendPart, sha256, toHex } from "@/features/datasets/api/upload-part";
import { accepted, answer, api, ApiError } from "@/lib/api/client";
import type { components } from "@/lib/api/schema.gen";
import { readText, writeText } from "@/lib/stored";

export type Upload = components["schemas"]["Upload"];

interface UploadProgress {
  /** Bytes on the server, including parts of an earlier start. */
  readonly sent: number;
  readonly total: number;
  /** True while parts of an earlier start are compared with the file. `sent` then counts the compared bytes. */
  readonly checking: boolean;
}

interface UploadOptions {
  readonly onProgress: (progress: UploadProgress) => void;
  /** Stops the upload. The parts stay on the server, and a later start of the same file continues from them. */
  readonly signal: AbortSignal;
  /** Called when the upload has an id. */
  readonly onOpen?: (upload: Upload) => void;
  /** Id of an open upload of this file. Without it, the one that this browser began with the file. */
  readonly resume?: string;
}

const PARALLEL = 3;

/** Sends a file in parts, several at a time. Returns the complete upload; rejects with ApiError or the signal's reason. */
export async function startUpload(file: File, options: UploadOptions): Promise<Upload> {
  const { signal } = options;
  const upload = (await resumableUpload(file, options)) ?? (await patiently(() => create(file, signal), signal));
  remember(file, upload.id);
  options.onOpen?.(upload);
  await sendMissing(file, upload, options);
  const complete = await patiently(() => finish(upload.id, signal), signal);
  forget(file);
  return complete;
}

/** Deletes an upload and its parts on the server. An upload that does not exist any more is no error. */
export async function cancelUpload(id: string): Promise<void> {
  try {
    await accepted(api.DELETE("/v1/uploads/{upload_id}", { params: { path: { upload_id: id } } }));
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

const isGone = (error: unknown): boolean => error instanceof ApiError && error.status === 404;

const create = (file: File, signal: AbortSignal) =>
  answer(api.POST("/v1/uploads", { body: { filename: file.name, bytes: file.size }, signal }));

const finish = (id: string, signal: AbortSignal) =>
  answer(api.POST("/v1/uploads/{upload_id}/complete", { params: { path: { upload_id: id } }, body: {}, signal }));

/** The upload to continue: one of this file whose parts on the server are equal to the file. Null without one. */
async function resumableUpload(file: File, options: UploadOptions): Promise<Upload | null> {
  const own = remembered(file);
  const id = options.resume ?? own;
  if (!id) return null;
  const upload = await fetchUpload(id, options.signal);
  if (!upload || upload.bytes !== file.size || (upload.status !== "open" && upload.status !== "complete")) return null;
  if (canSum) return (await hasPartsOf(file, upload, options)) ? upload : null;
  // Without checksums, only this browser's storage shows that it is the same file.
  return id === own ? upload : null;
}

async function fetchUpload(id: string, signal: AbortSignal): Promise<Upload | null> {
  const path = { upload_id: id };
  try {
    return await patiently(() => answer(api.GET("/v1/uploads/{upload_id}", { params: { path }, signal })), signal);
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

class PartDiffers extends Error {}

/** Whether the parts on the server are equal to the file. Stops at the first part that is not. */
async function hasPartsOf(file: File, upload: Upload, { onProgress, signal }: UploadOptions): Promise<boolean> {
  let same = 0;
  try {
    await inParallel(upload.received, signal, async (number, running) => {
      const part = partOf(file, upload, number);
      if ((await partHash(upload.id, number, running)) !== toHex(await sha256(part))) throw new PartDiffers();
      same += part.size;
      onProgress({ sent: same, total: file.size, checking: true });
    });
    return true;
  } catch (error) {
    if (error instanceof PartDiffers) return false;
    throw error;
  }
}

async function partHash(id: string, number: number, signal: AbortSignal): Promise<string> {
  const path = { upload_id: id, number };
  const part = () => answer(api.GET("/v1/uploads/{upload_id}/parts/{number}", { params: { path }, signal }));
  return (await patiently(part, signal)).sha256;
}

async function sendMissing(file: File, upload: Upload, { onProgress, signal }: UploadOptions): Promise<void> {
  const arrived = new Set(upload.received);
  const missing = Array.from({ length: upload.parts ?? 0 }, (_, index) => index + 1).filter((n) => !arrived.has(n));
  const sent = new Map<number, number>();
  const report = () => {
    const now = [...sent.values()].reduce((sum, bytes) => sum + bytes, upload.bytes_received);
    onProgress({ sent: Math.min(now, file.size), total: file.size, checking: false });
  };
  report();
  await inParallel(missing, signal, async (number, running) => {
    const part = partOf(file, upload, number);
    const onSent = (bytes: number) => {
      sent.set(number, bytes);
      report();
    };
    await sendPart(`/v1/uploads/${upload.id}/parts/${number}`, part, onSent, running);
    onSent(part.size);
  });
}

const partOf = (file: File, upload: Upload, number: number) =>
  file.slice((number - 1) * upload.part_bytes, number * upload.part_bytes);

type Action = (number: number, signal: AbortSignal) => Promise<void>;

/** Runs the action for each number, PARALLEL at a time. The first failure stops the others too. */
async function inParallel(numbers: readonly number[], signal: AbortSignal, action: Action): Promise<void> {
  const stop = new AbortController();
  const running = AbortSignal.any([signal, stop.signal]);
  const queue = numbers[Symbol.iterator]();
  const work = async () => {
    for (const number of queue) {
      running.throwIfAborted();
      await action(number, running);
    }
  };
  try {
    await Promise.all(Array.from({ length: PARALLEL }, work));
  } finally {
    stop.abort();
  }
}

// The key in the browser's storage of the upload that belongs to a file, so that a page opened later can continue it. A changed
// file has another time, and so another key.
const key = (file: File) => `upload:${file.size}:${file.lastModified}:${file.name}`;

/** The id of the upload of this file that this browser began; null without one. */
const remembered = (file: File): string | null => readText(key(file));

const remember = (file: File, id: string) => writeText(key(file), id);

export function forget(file: File): void {
  try {
    localStorage.removeItem(key(file));
  } catch {
    // The storage is blocked, so it holds no id.
  }
}
