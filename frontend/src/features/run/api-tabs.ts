import { queryOptions } from "@tanstack/react-query";
import { jobsKey } from "@/features/jobs/api";
import { accepted, answer, api } from "@/lib/api/client";
import type { LogLine } from "@/lib/api/types";

// The requests of tabs that are loaded when they are opened. Those of the page itself are in api.ts, which the first page loads.

export interface LogFilter {
  readonly search: string;
  readonly source: "" | LogLine["source"];
  /** Number of the newest lines that are wanted. */
  readonly tail: number;
}

/** Lines of the console output. `cursor` counts lines that the filter left out, too. */
export interface LogPage {
  readonly lines: readonly LogLine[];
  readonly cursor: number;
  /** The job has ended and no line follows. */
  readonly complete: boolean;
}

/** Lines that a page holds at most. The API sends as many at once. */
export const MOST_LOG_LINES = 10_000;

/** The newest lines; with the page before, that page and the lines after it. */
export async function fetchLog(id: string, filter: LogFilter, before: LogPage | undefined): Promise<LogPage> {
  const { search, source, tail } = filter;
  const range = before ? { after: before.cursor, limit: MOST_LOG_LINES } : { tail };
  const query = { search, ...(source && { source }), ...range };
  const params = { path: { job_id: id }, query };
  let headers = new Headers();
  const call = api.GET("/v1/jobs/{job_id}/logs", { params, parseAs: "text" });
  const body = await accepted(
    call.then((result) => {
      headers = result.response.headers;
      return result;
    }),
  );
  const fresh = (body ?? "")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as LogLine);
  return {
    lines: [...(before?.lines ?? []), ...fresh].slice(-MOST_LOG_LINES),
    cursor: Number(headers.get("X-Log-Cursor") ?? before?.cursor ?? 0),
    complete: headers.get("X-Log-Complete") === "true",
  };
}

export const telemetryQuery = (id: string) =>
  queryOptions({
    queryKey: [...jobsKey, id, "telemetry"],
    queryFn: () =>
      answer(
        api.GET("/v1/jobs/{job_id}/telemetry", { params: { path: { job_id: id }, query: { every_attempt: true } } }),
      ),
  });

/** The JSON schema of a job spec. It changes with the software only. */
export const specSchemaQuery = queryOptions({
  queryKey: ["schema", "job"],
  queryFn: () => answer(api.GET("/v1/schema/job")),
  staleTime: Infinity,
});

export const changeNotes = (id: string, notes: string) =>
  answer(api.PATCH("/v1/jobs/{job_id}", { params: { path: { job_id: id } }, body: { notes } }));
