import type { Problem } from "@/lib/api/types";

/** An answer of the API that is not 2xx, or (status 0) no answer at all. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly body: Partial<Problem>,
    /** Seconds after which the server asks to be asked again. */
    readonly retryAfter: number | null = null,
  ) {
    super(body.detail ?? body.title ?? (status ? `The server answered ${status}.` : "The server cannot be reached."));
    this.name = "ApiError";
  }

  /** Whether the same request may succeed later without any change. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 502;
  }
}

/** Whether the same may succeed later without any change. */
export const isPassing = (error: unknown): boolean => error instanceof ApiError && error.isPassing;

/** A `Retry-After` in seconds; null where there is none, or a date. */
export function secondsOf(header: string | null): number | null {
  return header !== null && /^\d{1,4}$/.test(header) ? Number(header) : null;
}

/** What a proxy in between answers is no problem document. */
export function toProblem(body: unknown): Partial<Problem> {
  return typeof body === "object" && body !== null ? body : {};
}
