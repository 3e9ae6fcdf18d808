import { ApiError } from "@/lib/api/client";

const TRIES = 8;
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8000;
const LONGEST_ASKED = 60_000;
const DISK_FULL = 507;

/** Does it again after trouble that passes, for about half a minute. Time without a network does not count. */
export async function patiently<T>(action: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof ApiError) || !passes(error) || attempt === TRIES) throw error;
      if (error.status === 0 && !navigator.onLine) attempt = 0;
      await pause(attempt ? pauseAfter(error, attempt) : LONGEST_PAUSE, signal);
    }
  }
}

const passes = (error: ApiError): boolean => error.isPassing && error.status !== DISK_FULL;

/** Longer each time, and as long as the server asks for, within reason. */
function pauseAfter({ retryAfter }: ApiError, attempt: number): number {
  const asked = Math.min((retryAfter ?? 0) * 1000, LONGEST_ASKED);
  return Math.max(asked, Math.min(FIRST_PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE));
}

/** Ends early when the network is back. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      window.removeEventListener("online", end);
      if (signal.aborted) reject(stopped(signal));
      else resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener("abort", end);
    window.addEventListener("online", end);
  });
}

/** The reason of an aborted signal, always as an Error. */
export const stopped = (signal: AbortSignal): Error =>
  signal.reason instanceof Error ? signal.reason : new DOMException("The upload was stopped.", "AbortError");
