import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { accepted, answer, api } from "@/lib/api/client";
import type { paths } from "@/lib/api/schema.gen";

type Body<Path extends keyof paths, Method extends keyof paths[Path]> = paths[Path][Method] extends {
  requestBody: { content: { "application/json": infer Json } };
}
  ? Json
  : never;

type WholeRound = Body<"/v1/annotation/rounds", "post">;
type Source<Of> = Of extends { type: string } ? Pick<Of, "type"> & Partial<Of> : never;
/** Fields with a default are optional in a request. The schema's types describe responses too, where they are present. */
type NewRound = Partial<Omit<WholeRound, "source">> & { source: Source<WholeRound["source"]> };
type RoundChange = Body<"/v1/annotation/rounds/{round_id}", "patch">;
type GivenAnswer = Body<"/v1/annotation/rounds/{round_id}/items/{item_id}/answer", "put">;
type Closing = Body<"/v1/annotation/rounds/{round_id}/close", "post">;
type Continuing = Body<"/v1/annotation/rounds/{round_id}/continue", "post">;

export const roundsKey = ["rounds"] as const;

/** An answer that takes longer is sent again; repeating does no harm. */
const ANSWER_MS = 15_000;

const at = (id: string) => ({ path: { round_id: id } });

export const roundsQuery = infiniteQueryOptions({
  queryKey: [...roundsKey, "list"],
  queryFn: ({ pageParam }) =>
    answer(api.GET("/v1/annotation/rounds", { params: { query: { limit: 25, after: pageParam } } })),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => (page.has_more ? page.last_id : null),
});

export const roundQuery = (id: string) =>
  queryOptions({
    queryKey: [...roundsKey, id],
    queryFn: () => answer(api.GET("/v1/annotation/rounds/{round_id}", { params: at(id) })),
  });

export const progressQuery = (id: string) =>
  queryOptions({
    queryKey: [...roundsKey, id, "progress"],
    queryFn: () => answer(api.GET("/v1/annotation/rounds/{round_id}/progress", { params: at(id) })),
  });

/** Items on which annotators do not agree. */
export const disagreedQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: [...roundsKey, id, "disagreed"],
    queryFn: ({ pageParam }) => {
      const query = { only: "disagreed", limit: 10, after: pageParam } as const;
      return answer(api.GET("/v1/annotation/rounds/{round_id}/items", { params: { ...at(id), query } }));
    },
    initialPageParam: 0,
    getNextPageParam: (page) => (page.has_more ? Number(page.last_id) : null),
  });

export const createRound = (body: NewRound) => answer(api.POST("/v1/annotation/rounds", { body: body as WholeRound }));

export const changeRound = (id: string, body: RoundChange) =>
  answer(api.PATCH("/v1/annotation/rounds/{round_id}", { params: at(id), body }));

export const deleteRound = (id: string) => accepted(api.DELETE("/v1/annotation/rounds/{round_id}", { params: at(id) }));

export const nextItems = (id: string, annotator: string, limit: number) =>
  answer(api.POST("/v1/annotation/rounds/{round_id}/next", { params: at(id), body: { annotator, limit } }));

export const putAnswer = (id: string, item: string, body: GivenAnswer) =>
  answer(
    api.PUT("/v1/annotation/rounds/{round_id}/items/{item_id}/answer", {
      params: { path: { round_id: id, item_id: item } },
      body,
      signal: AbortSignal.timeout(ANSWER_MS),
    }),
  );

export const undoAnswer = (id: string, annotator: string, item: string) =>
  answer(
    api.POST("/v1/annotation/rounds/{round_id}/undo", {
      params: at(id),
      body: { annotator, item },
      signal: AbortSignal.timeout(ANSWER_MS),
    }),
  );

export const compareWith = (id: string, checkpoint: string) =>
  answer(api.POST("/v1/annotation/rounds/{round_id}/reward_model", { params: at(id), body: { checkpoint } }));

export const closeRound = (id: string, body: Closing) =>
  answer(api.POST("/v1/annotation/rounds/{round_id}/close", { params: at(id), body }));

/** Sentences that describe the job that would continue. */
export const continuationQuery = (id: string, job: string, steps: number | null) =>
  queryOptions({
    queryKey: [...roundsKey, id, "continuation", job, steps],
    queryFn: () => {
      const query = { job, steps };
      return answer(api.GET("/v1/annotation/rounds/{round_id}/continuation", { params: { ...at(id), query } }));
    },
  });

export const continueJob = (id: string, body: Continuing) =>
  answer(api.POST("/v1/annotation/rounds/{round_id}/continue", { params: at(id), body }));
