import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import createClient from "openapi-fetch";
import type { paths } from "@/lib/api/schema.gen";
import type { Problem } from "@/lib/api/types";

/** Every path, parameter and body checked against the API's own schema. */
export const api = createClient<paths>();

interface Result<T> {
  data?: T | undefined;
  error?: unknown;
  response: Response;
}

/** The body of a good answer; whatever else happens is an ApiError. */
export async function answer<T>(call: Promise<Result<T>>): Promise<NonNullable<T>> {
  const data = await accepted(call);
  if (data === undefined || data === null) throw new ApiError(0, { title: "The server's answer was empty." });
  return data;
}

/** Like `answer`, for responses without a body. */
export async function accepted<T>(call: Promise<Result<T>>): Promise<T | undefined> {
  const result = await call.catch(unreachable);
  const { ok, status, headers } = result.response;
  if (!ok) throw new ApiError(status, toProblem(result.error), secondsOf(headers.get("Retry-After")));
  return result.data;
}

function unreachable(error: unknown): never {
  throw error instanceof TypeError ? new ApiError(0, {}) : error;
}

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

/** The body as a problem document; empty for other bodies, such as a proxy's. */
export function toProblem(body: unknown): Partial<Problem> {
  return typeof body === "object" && body !== null ? body : {};
}

interface Page<T> {
  readonly data: readonly T[];
  readonly has_more: boolean;
  readonly last_id: string | null;
}

/** The API's maximum page size. */
export const MOST = 100;

/** Every item of a list that people fill, and that is short for that: page by page. */
export async function allPages<T>(fetchPage: (after: string | null) => Promise<Page<T>>): Promise<T[]> {
  const items: T[] = [];
  for (let after: string | null = null; ;) {
    const page = await fetchPage(after);
    items.push(...page.data);
    if (!page.has_more || page.last_id === null) return items;
    after = page.last_id;
  }
}

export const sessionKey = ["session"] as const;

/** The `meta` of requests whose 401 refuses the credential that they send. The session of the browser, if any, goes on. */
export const refusedCredential = { refusedCredential: true } as const;

/** A session that ended shows the sign-in page, wherever it was noticed. */
export function noticeSignOut(error: unknown): void {
  if (error instanceof ApiError && error.status === 401) queryClient.setQueryData(sessionKey, null);
}

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noticeSignOut }),
  mutationCache: new MutationCache({
    onError: (error, _variables, _result, mutation) => {
      if (!mutation.meta?.refusedCredential) noticeSignOut(error);
    },
  }),
  defaultOptions: {
    queries: {
      retry: (failures, error) => failures < 2 && (!(error instanceof ApiError) || error.isPassing),
      retryDelay: (failures) => 500 * 2 ** failures,
      staleTime: 1000,
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});
