import createClient from "openapi-fetch";
import { ApiError, secondsOf, toProblem } from "@/lib/api/problem";
import type { paths } from "@/lib/api/schema.gen";

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

/** As `answer`, for what answers with nothing. */
export async function accepted<T>(call: Promise<Result<T>>): Promise<T | undefined> {
  const result = await call.catch(unreachable);
  const { ok, status, headers } = result.response;
  if (!ok) throw new ApiError(status, toProblem(result.error), secondsOf(headers.get("Retry-After")));
  return result.data;
}

function unreachable(error: unknown): never {
  throw error instanceof TypeError ? new ApiError(0, {}) : error;
}
