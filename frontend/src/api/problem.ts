import type { Problem } from "@/api/types";

/** An answer of the API that is not 2xx, or (status 0) no answer at all. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly body: Partial<Problem>,
  ) {
    super(body.detail ?? body.title ?? (status ? `The server answered ${status}.` : "The server cannot be reached."));
    this.name = "ApiError";
  }

  /** Whether the same request may succeed later without any change. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 502;
  }
}

/** What a proxy in between answers is no problem document. */
export function toProblem(body: unknown): Partial<Problem> {
  return typeof body === "object" && body !== null ? body : {};
}
