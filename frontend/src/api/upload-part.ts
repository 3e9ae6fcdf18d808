import { ApiError, toProblem } from "@/api/problem";

const TRIES = 8;
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8000;
const DISK_FULL = 507;

/** Sends one part, again after trouble that passes. `onSent` gets the bytes of this try that are on their way. */
export async function sendPart(path: string, part: Blob, onSent: (bytes: number) => void, signal: AbortSignal) {
  const sum = await sha256(part);
  const headers: [string, string][] = [["Content-Type", "application/octet-stream"]];
  if (sum) headers.push(["Content-Digest", `sha-256=:${toBase64(sum)}:`]);
  for (let attempt = 1; ; attempt++) {
    try {
      await put(path, part, headers, onSent, signal);
      return;
    } catch (error) {
      onSent(0);
      const passes = error instanceof ApiError && error.isPassing && error.status !== DISK_FULL;
      if (!passes || attempt === TRIES) throw error;
    }
    await pause(Math.min(FIRST_PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE), signal);
  }
}

/** Null where the page is not a secure context: browsers then compute no sums. */
export async function sha256(part: Blob): Promise<Uint8Array | null> {
  // The types say that it is always there.
  const subtle = crypto.subtle as SubtleCrypto | undefined;
  return subtle ? new Uint8Array(await subtle.digest("SHA-256", await part.arrayBuffer())) : null;
}

export const toHex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

const toBase64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes));

/** XMLHttpRequest, unlike fetch, tells how much has been sent. */
function put(
  path: string,
  part: Blob,
  headers: [string, string][],
  onSent: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const xhr = new XMLHttpRequest();
    const abort = () => xhr.abort();
    signal.addEventListener("abort", abort);
    xhr.open("PUT", path);
    for (const [name, value] of headers) xhr.setRequestHeader(name, value);
    xhr.upload.onprogress = (event) => onSent(event.loaded);
    xhr.onload = () => {
      if (xhr.status === 200) resolve();
      else reject(new ApiError(xhr.status, toProblem(parse(xhr.responseText))));
    };
    xhr.onerror = () => reject(new ApiError(0, {}));
    xhr.onabort = () => reject(aborted(signal));
    xhr.onloadend = () => signal.removeEventListener("abort", abort);
    xhr.send(part);
  });
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      if (signal.aborted) reject(aborted(signal));
      else resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener("abort", end);
  });
}

function aborted(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new DOMException("The upload was stopped.", "AbortError");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
