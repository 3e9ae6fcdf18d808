import { patiently, stopped } from "@/features/datasets/api/patience";
import { ApiError, secondsOf, toProblem } from "@/lib/api/client";

/** Sends one part, again after trouble that passes. `onSent` gets the bytes of this try that are on their way. */
export async function sendPart(path: string, part: Blob, onSent: (bytes: number) => void, signal: AbortSignal) {
  const headers: [string, string][] = [["Content-Type", "application/octet-stream"]];
  if (canSum) headers.push(["Content-Digest", `sha-256=:${toBase64(await sha256(part))}:`]);
  const send = async () => {
    try {
      await put(path, part, headers, onSent, signal);
    } catch (error) {
      onSent(0);
      throw error;
    }
  };
  await patiently(send, signal);
}

/** Browsers compute no sums for a page that is not a secure context. The types say that they always do. */
export const canSum = (crypto.subtle as SubtleCrypto | undefined) !== undefined;

export const sha256 = async (part: Blob): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", await part.arrayBuffer()));

export const toHex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

const toBase64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes));

/** Sends with XMLHttpRequest, because fetch does not report upload progress. */
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
      else
        reject(
          new ApiError(xhr.status, toProblem(parse(xhr.responseText)), secondsOf(xhr.getResponseHeader("Retry-After"))),
        );
    };
    xhr.onerror = () => reject(new ApiError(0, {}));
    xhr.onabort = () => reject(stopped(signal));
    xhr.onloadend = () => signal.removeEventListener("abort", abort);
    xhr.send(part);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
