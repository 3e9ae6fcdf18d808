import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type {
  AnswerReceipt,
  Continuation,
  Hand,
  ItemResult,
  NewRound,
  Round,
  RoundList,
  RoundProgress,
  UndoReceipt,
} from "@/api/annotation-types";
import { ApiError, toProblem } from "@/api/problem";
import type { Job } from "@/api/types";

export const roundsKey = ["rounds"] as const;

/** An answer that takes longer is asked for again; repeating is harmless. */
const ANSWER_MS = 15_000;

async function send<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const response = await fetch(`/v1/annotation${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
    ...(signal && { signal }),
  }).catch((error: unknown) => {
    throw error instanceof TypeError ? new ApiError(0, {}) : error;
  });
  const data: unknown = response.status === 204 ? undefined : await response.json().catch(() => null);
  if (!response.ok) throw new ApiError(response.status, toProblem(data));
  return data as T;
}

export const roundsQuery = infiniteQueryOptions({
  queryKey: [...roundsKey, "list"],
  queryFn: ({ pageParam }) => send<RoundList>("GET", `/rounds?limit=25${pageParam ? `&after=${pageParam}` : ""}`),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => (page.has_more ? page.last_id : null),
});

export const roundQuery = (id: string) =>
  queryOptions({ queryKey: [...roundsKey, id], queryFn: () => send<Round>("GET", `/rounds/${id}`) });

export const progressQuery = (id: string) =>
  queryOptions({
    queryKey: [...roundsKey, id, "progress"],
    queryFn: () => send<RoundProgress>("GET", `/rounds/${id}/progress`),
  });

/** Items on which annotators do not agree. */
export const disagreedQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: [...roundsKey, id, "disagreed"],
    queryFn: ({ pageParam }) =>
      send<{ data: ItemResult[]; has_more: boolean; last_id: string | null }>(
        "GET",
        `/rounds/${id}/items?only=disagreed&limit=10${pageParam ? `&after=${pageParam}` : ""}`,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => (page.has_more ? page.last_id : null),
  });

export const createRound = (round: NewRound) => send<Round>("POST", "/rounds", round);

export const changeRound = (id: string, change: { name?: string; instructions?: string; status?: "open" | "paused" }) =>
  send<Round>("PATCH", `/rounds/${id}`, change);

export const deleteRound = (id: string) => send("DELETE", `/rounds/${id}`);

export const nextItems = (id: string, annotator: string, limit: number) =>
  send<Hand>("POST", `/rounds/${id}/next`, { annotator, limit });

export const putAnswer = (id: string, item: string, answer: object) =>
  send<AnswerReceipt>("PUT", `/rounds/${id}/items/${item}/answer`, answer, AbortSignal.timeout(ANSWER_MS));

export const undoAnswer = (id: string, annotator: string, item: string) =>
  send<UndoReceipt>("POST", `/rounds/${id}/undo`, { annotator, item }, AbortSignal.timeout(ANSWER_MS));

export const compareWith = (id: string, checkpoint: string) =>
  send<RoundProgress>("POST", `/rounds/${id}/reward_model`, { checkpoint });

export const closeRound = (id: string, into: { dataset?: string; name?: string }) =>
  send<Round>("POST", `/rounds/${id}/close`, into);

export const continuationQuery = (id: string, job: string, steps: number | null) =>
  queryOptions({
    queryKey: [...roundsKey, id, "continuation", job, steps],
    queryFn: () =>
      send<Continuation>(
        "GET",
        `/rounds/${id}/continuation?job=${encodeURIComponent(job)}${steps === null ? "" : `&steps=${steps}`}`,
      ),
  });

export const continueJob = (id: string, job: string, steps: number | null) =>
  send<Job>("POST", `/rounds/${id}/continue`, { job, ...(steps !== null && { steps }) });
