import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { readRecipes } from "@/features/job-form/model/recipe";
import type { JsonObject } from "@/features/job-form/model/spec";
import type { Queueing } from "@/features/job-form/model/submission";
import { accepted, answer, api } from "@/lib/api/client";
import type { components } from "@/lib/api/schema.gen";
import type { DatasetKind, JobSpec } from "@/lib/api/types";

export type Validation = components["schemas"]["Validation"];
export type Template = components["schemas"]["Template"];
export type Sweep = components["schemas"]["SweepSpec"];

/** The form builds the body from the schema that the server sent, and the server checks it. */
const asSpec = (spec: JsonObject): JobSpec => spec as unknown as JobSpec;

/** A repeated submission with the same key returns the first job. */
const once = (key: string) => ({ "Idempotency-Key": key });

export const schemaQuery = queryOptions({
  queryKey: ["job-form", "schema"],
  queryFn: async () => (await answer(api.GET("/v1/schema/job"))) as unknown as JsonObject,
  staleTime: Infinity,
});

export const presetsQuery = queryOptions({
  queryKey: ["job-form", "presets"],
  queryFn: async () => (await answer(api.GET("/v1/presets"))).data,
  staleTime: Infinity,
});

/** The recipes of the documentation; none where the dashboard was built without them. */
export const recipesQuery = queryOptions({
  queryKey: ["job-form", "recipes"],
  queryFn: async () => {
    const response = await fetch("/samples/recipes.json");
    // The development server sends the page in place of a missing file.
    const isJson = response.ok && response.headers.get("content-type")?.includes("json");
    return isJson ? readRecipes(await response.json()) : [];
  },
  staleTime: Infinity,
});

/** The newest templates of the user. */
export const templatesQuery = queryOptions({
  queryKey: ["templates"],
  queryFn: async () =>
    (await answer(api.GET("/v1/templates", { params: { query: { limit: 100, order: "desc" } } }))).data,
});

export const templateQuery = (id: string) =>
  queryOptions({
    queryKey: ["templates", id],
    queryFn: () => answer(api.GET("/v1/templates/{template_id}", { params: { path: { template_id: id } } })),
  });

export const createTemplate = (name: string, description: string, spec: JsonObject) =>
  answer(api.POST("/v1/templates", { body: { name, description, spec } }));

export const deleteTemplate = (id: string) =>
  accepted(api.DELETE("/v1/templates/{template_id}", { params: { path: { template_id: id } } }));

/** The newest datasets of a kind; null: of every kind. */
export const choicesQuery = (kind: DatasetKind | null) =>
  queryOptions({
    queryKey: ["datasets", "choices", kind],
    queryFn: async () => (await answer(api.GET("/v1/datasets", { params: { query: { kind, limit: 100 } } }))).data,
    staleTime: 10_000,
  });

/** Requests a check of the spec. A spec that the server refuses is an error with the fields. */
export const requestQuery = (spec: JsonObject | null) =>
  queryOptions({
    queryKey: ["job-form", "check", JSON.stringify(spec)],
    // The request itself is not aborted: the server may have queued the check, and only the answer has its id.
    queryFn: async ({ signal }) => {
      const made = await answer(api.POST("/v1/jobs/validate", { body: asSpec(spec ?? {}) }));
      if (signal.aborted && isUnfinished(made)) await cancelCheck(made.id);
      return made;
    },
    enabled: spec !== null,
    retry: false,
    staleTime: 60_000,
    gcTime: 60_000,
  });

/** Cancels a check. One that has ended meanwhile stays as it is. `keepalive`: the page is being left. */
export const cancelCheck = (id: string) =>
  answer(
    api.POST("/v1/jobs/validations/{validation_id}/cancel", {
      params: { path: { validation_id: id } },
      keepalive: true,
    }),
  ).catch(() => null);

export const isUnfinished = (validation: Validation | undefined): boolean =>
  validation?.status === "queued" || validation?.status === "running";

export const validationQuery = (requested: Validation | undefined) =>
  queryOptions({
    queryKey: ["job-form", "validation", requested?.id ?? "", requested?.requested_at ?? ""],
    queryFn: ({ signal }) => {
      const params = { path: { validation_id: requested?.id ?? "" } };
      return answer(api.GET("/v1/jobs/validations/{validation_id}", { params, signal }));
    },
    enabled: isUnfinished(requested),
    refetchInterval: ({ state }) => (state.data && !isUnfinished(state.data) ? false : 1000),
    placeholderData: keepPreviousData,
  });

export const createJob = (spec: JsonObject, queueing: Queueing, force: boolean, key: string) => {
  const params = { query: { ...queueing, force }, header: once(key) };
  return answer(api.POST("/v1/jobs", { body: asSpec(spec), params }));
};

export const cloneJob = (id: string, patch: JsonObject, force: boolean, key: string) => {
  const params = { path: { job_id: id }, query: { force }, header: once(key) };
  return answer(api.POST("/v1/jobs/{job_id}/clone", { params, body: { patch } }));
};

export const branchJob = (id: string, checkpoint: string, patch: JsonObject, force: boolean, key: string) => {
  const params = { path: { job_id: id }, query: { force }, header: once(key) };
  return answer(api.POST("/v1/jobs/{job_id}/branch", { params, body: { checkpoint, patch } }));
};

export const planQuery = (sweep: Sweep | null) =>
  queryOptions({
    queryKey: ["job-form", "plan", JSON.stringify(sweep)],
    queryFn: ({ signal }) => answer(api.POST("/v1/sweeps/validate", { body: sweep ?? ({} as Sweep), signal })),
    enabled: sweep !== null,
    retry: false,
  });

/** The jobs of a sweep form a group of their own. */
export const createSweep = (sweep: Sweep, { priority, preemptible }: Queueing, key: string) => {
  const params = { query: { priority, preemptible }, header: once(key) };
  return answer(api.POST("/v1/sweeps", { body: sweep, params }));
};
