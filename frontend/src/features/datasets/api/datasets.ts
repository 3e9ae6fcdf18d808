import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { lossesOf } from "@/features/datasets/model/export-losses";
import { accepted, allPages, answer, api, MOST } from "@/lib/api/client";
import type { operations } from "@/lib/api/schema.gen";
import type { DatasetKind } from "@/lib/api/types";

export const datasetsKey = ["datasets"] as const;

const PAGE = 50;

/** The order of the list: a name of the server, with "-" in front for descending. */
export type DatasetSort = NonNullable<NonNullable<operations["list_datasets"]["parameters"]["query"]>["sort"]>;

export interface DatasetFilter {
  readonly search: string;
  readonly kind: DatasetKind | null;
  readonly archived: boolean;
  /** Null is newest first. */
  readonly sort: DatasetSort | null;
}

export const datasetsQuery = ({ search, kind, archived, sort }: DatasetFilter) =>
  infiniteQueryOptions({
    queryKey: [...datasetsKey, "list", search, kind, archived, sort],
    queryFn: ({ pageParam }) => {
      const query = { limit: PAGE, after: pageParam, archived, kind, search: search || null, ...(sort && { sort }) };
      return answer(api.GET("/v1/datasets", { params: { query } }));
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => (page.has_more ? page.last_id : null),
  });

const at = (id: string) => ({ path: { dataset_id: id } });

export const datasetQuery = (id: string) =>
  queryOptions({
    queryKey: [...datasetsKey, id],
    queryFn: () => answer(api.GET("/v1/datasets/{dataset_id}", { params: at(id) })),
  });

/** All of them, newest first: few, as each is the work of a person. `state` is whatever they are fetched anew for. */
export const versionsQuery = (id: string, state = "") =>
  queryOptions({
    queryKey: [...datasetsKey, id, "versions", state],
    queryFn: () =>
      allPages((after) => {
        const query = { limit: MOST, order: "desc", after } as const;
        return answer(api.GET("/v1/datasets/{dataset_id}/versions", { params: { ...at(id), query } }));
      }),
    placeholderData: keepPreviousData,
  });

export const renameDataset = (id: string, name: string) =>
  answer(api.PATCH("/v1/datasets/{dataset_id}", { params: at(id), body: { name } }));

export const archiveDataset = (id: string, archived: boolean) =>
  answer(
    archived
      ? api.POST("/v1/datasets/{dataset_id}/archive", { params: at(id) })
      : api.POST("/v1/datasets/{dataset_id}/unarchive", { params: at(id) }),
  );

export const deleteDataset = (id: string) => accepted(api.DELETE("/v1/datasets/{dataset_id}", { params: at(id) }));

/** Ends what is filling its newest version, which then fails with the code `cancelled`. */
export async function stopImport(id: string): Promise<void> {
  const tasks = (await answer(api.GET("/v1/datasets/{dataset_id}/tasks", { params: at(id) }))).data;
  const running = tasks.filter(
    (task) => FILLING.has(task.kind) && (task.status === "queued" || task.status === "running"),
  );
  for (const task of running) {
    const path = { dataset_id: id, task_id: task.id };
    await answer(api.POST("/v1/datasets/{dataset_id}/tasks/{task_id}/cancel", { params: { path } }));
  }
}

const FILLING = new Set(["import", "fix"]);

type ExportFormat = (typeof EXPORTS)[number]["format"];

export const EXPORTS = [
  { format: "rows", label: "Rows as stored", note: "canonical JSONL" },
  { format: "trl", label: "TRL", note: "JSONL with prompt, chosen, rejected" },
  { format: "openai", label: "OpenAI", note: "JSONL with input, preferred_output, non_preferred_output" },
  { format: "openrlhf", label: "OpenRLHF", note: "JSONL with prompt, chosen, rejected; or input and output" },
  { format: "verl", label: "verl", note: "Parquet with prompt and reward_model; or messages" },
  { format: "llama_factory", label: "LLaMA-Factory", note: "JSONL with conversations, chosen, rejected" },
  { format: "parquet", label: "Parquet", note: "for pandas, Spark, DuckDB" },
] as const;

/** A plain link: the browser downloads it with the cookie. */
export const exportAddress = (id: string, version: number, format: string): string =>
  `/v1/datasets/${id}/export?${new URLSearchParams({ format, version: String(version) }).toString()}`;

/** How many rows have what the format of an export cannot hold, in sentences. Only the headers are read. */
export async function notCarried(id: string, version: number, format: ExportFormat): Promise<readonly string[]> {
  const stop = new AbortController();
  const params = { path: { dataset_id: id }, query: { format, version } };
  const call = api.GET("/v1/datasets/{dataset_id}/export", { params, parseAs: "stream", signal: stop.signal });
  await accepted(call);
  const { response } = await call;
  stop.abort();
  return lossesOf(response.headers.get("X-Proximal-Not-Carried") ?? "");
}

interface RowsWanted {
  readonly version: number;
  /** Only rows behind this number. */
  readonly after: number;
  readonly limit: number;
  readonly search: string;
  /** The code of a finding, and the report that made it. */
  readonly finding: string | null;
  readonly report: string | null;
  readonly split: "train" | "eval" | null;
  /** The seed of a random sample of `limit` rows; null for rows in order. */
  readonly seed: number | null;
}

/** Rows of a version, which never change. */
export const rowsQuery = (id: string, wanted: RowsWanted) =>
  queryOptions({
    queryKey: [...datasetsKey, id, "rows", wanted],
    queryFn: () =>
      answer(
        api.GET("/v1/datasets/{dataset_id}/rows", { params: { path: { dataset_id: id }, query: toQuery(wanted) } }),
      ),
    staleTime: Infinity,
  });

function toQuery({ version, after, limit, search, finding, report, split, seed }: RowsWanted) {
  return {
    version,
    ...(seed === null ? { after, limit } : { sample: limit, seed }),
    ...(search && { search }),
    ...(finding && { finding, ...(report && { report }) }),
    ...(split && { split }),
  };
}

/** The reports on a version, newest first. */
export const reportsQuery = (id: string, version: number) =>
  queryOptions({
    queryKey: [...datasetsKey, id, "reports", version],
    queryFn: async () => {
      const query = { version, limit: 50 };
      return (await answer(api.GET("/v1/datasets/{dataset_id}/reports", { params: { ...at(id), query } }))).data;
    },
  });

interface ReportWanted {
  readonly version: number;
  /** A checkpoint's id or a model's path; null for a report that needs no tokenizer. */
  readonly model: string | null;
  readonly chat_template?: "auto" | "none";
  readonly max_prompt_tokens?: number;
  readonly max_completion_tokens?: number;
}

export const makeReport = (id: string, wanted: ReportWanted) =>
  answer(api.POST("/v1/datasets/{dataset_id}/reports", { params: at(id), body: wanted }));

/** Applies fixes: a new version comes of it. `report` is null for what the import itself found. */
export const applyFixes = (id: string, version: number, report: string | null, findings: string[]) =>
  answer(api.POST("/v1/datasets/{dataset_id}/fixes", { params: at(id), body: { version, report, findings } }));
