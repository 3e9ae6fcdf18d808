import { patiently } from "@/features/datasets/api/patience";
import { canSum, sendPart, sha256, toHex } from "@/features/datasets/api/upload-part";
import { accepted, answer, api, ApiError } from "@/lib/api/client";
import type { components } from "@/lib/api/schema.gen";
import { readText, writeText } from "@/lib/stored";

export type Upload = components["schemas"]["Upload"];

interface UploadProgress {
  /** Bytes, with those of parts that had arrived before. */
  readonly sent: number;
  readonly total: number;
  /** Nothing is sent yet: of what had arrived before, so much has been compared with the file. */
  readonly checking: boolean;
}

interface UploadOptions {
  readonly onProgress: (progress: UploadProgress) => void;
  /** Stops it; what has arrived stays, and a later start of the same file goes on from it. */
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
  const upload = (await resumed(file, options)) ?? (await patiently(() => create(file, signal), signal));
  remember(file, upload.id);
  options.onOpen?.(upload);
  await sendMissing(file, upload, options);
  const complete = await patiently(() => finish(upload.id, signal), signal);
  forget(file);
  return complete;
}

/** Has the server forget what has arrived. One that is gone already is as it should be. */
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

/** The upload to go on with, if there is one and what has arrived of it is this file's. */
async function resumed(file: File, options: UploadOptions): Promise<Upload | null> {
  const own = remembered(file);
  const id = options.resume ?? own;
  if (!id) return null;
  const upload = await found(id, options.signal);
  if (!upload || upload.bytes !== file.size || (upload.status !== "open" && upload.status !== "complete")) return null;
  if (canSum) return (await isOurs(file, upload, options)) ? upload : null;
  // Without checksums, only this browser's storage shows that it is the same file.
  return id === own ? upload : null;
}

async function found(id: string, signal: AbortSignal): Promise<Upload | null> {
  const path = { upload_id: id };
  try {
    return await patiently(() => answer(api.GET("/v1/uploads/{upload_id}", { params: { path }, signal })), signal);
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

class AnotherFile extends Error {}

/** Whether what has arrived is the file's, up to the first part that is not. */
async function isOurs(file: File, upload: Upload, { onProgress, signal }: UploadOptions): Promise<boolean> {
  let same = 0;
  try {
    await inParallel(upload.received, signal, async (number, goOn) => {
      const part = partOf(file, upload, number);
      if ((await sumOf(upload.id, number, goOn)) !== toHex(await sha256(part))) throw new AnotherFile();
      same += part.size;
      onProgress({ sent: same, total: file.size, checking: true });
    });
    return true;
  } catch (error) {
    if (error instanceof AnotherFile) return false;
    throw error;
  }
}

async function sumOf(id: string, number: number, signal: AbortSignal): Promise<string> {
  const path = { upload_id: id, number };
  const part = () => answer(api.GET("/v1/uploads/{upload_id}/parts/{number}", { params: { path }, signal }));
  return (await patiently(part, signal)).sha256;
}

async function sendMissing(file: File, upload: Upload, { onProgress, signal }: UploadOptions): Promise<void> {
  const arrived = new Set(upload.received);
  const missing = Array.from({ length: upload.parts ?? 0 }, (_, index) => index + 1).filter((n) => !arrived.has(n));
  const sent = new Map<number, number>();
  const tell = () => {
    const now = [...sent.values()].reduce((sum, bytes) => sum + bytes, upload.bytes_received);
    onProgress({ sent: Math.min(now, file.size), total: file.size, checking: false });
  };
  tell();
  await inParallel(missing, signal, async (number, goOn) => {
    const part = partOf(file, upload, number);
    const onSent = (bytes: number) => {
      sent.set(number, bytes);
      tell();
    };
    await sendPart(`/v1/uploads/${upload.id}/parts/${number}`, part, onSent, goOn);
    onSent(part.size);
  });
}

const partOf = (file: File, upload: Upload, number: number) =>
  file.slice((number - 1) * upload.part_bytes, number * upload.part_bytes);

type Action = (number: number, signal: AbortSignal) => Promise<void>;

/** Does the action for each number, PARALLEL at a time. The first trouble stops the others too. */
async function inParallel(numbers: readonly number[], signal: AbortSignal, action: Action): Promise<void> {
  const stop = new AbortController();
  const goOn = AbortSignal.any([signal, stop.signal]);
  const queue = numbers[Symbol.iterator]();
  const work = async () => {
    for (const number of queue) {
      goOn.throwIfAborted();
      await action(number, goOn);
    }
  };
  try {
    await Promise.all(Array.from({ length: PARALLEL }, work));
  } finally {
    stop.abort();
  }
}

// Which upload a file belongs to, so that the page may be left and opened again. A file that was changed has another
// time, and is another file.
const key = (file: File) => `upload:${file.size}:${file.lastModified}:${file.name}`;

/** The id of the upload that this file was begun with. */
const remembered = (file: File): string | null => readText(key(file));

const remember = (file: File, id: string) => writeText(key(file), id);

export function forget(file: File): void {
  try {
    localStorage.removeItem(key(file));
  } catch {
    // Blocked: then nothing was remembered either.
  }
}
