import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { allPages, MOST } from "@/lib/api/all-pages";
import { accepted, answer, api } from "@/lib/api/client";
import type { DatasetKind } from "@/lib/api/types";

export const datasetsKey = ["datasets"] as const;

const PAGE = 50;

export interface DatasetFilter {
  readonly search: string;
  readonly kind: DatasetKind | null;
  readonly archived: boolean;
}

export const datasetsQuery = ({ search, kind, archived }: DatasetFilter) =>
  infiniteQueryOptions({
    queryKey: [...datasetsKey, "list", search, kind, archived],
    queryFn: ({ pageParam }) => {
      const query = { limit: PAGE, after: pageParam, archived, kind, search: search || null };
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

export const EXPORTS = [
  { format: "rows", label: "Rows as stored", note: "canonical JSONL" },
  { format: "trl", label: "TRL", note: "JSONL with prompt, chosen, rejected" },
  { format: "openai", label: "OpenAI", note: "JSONL with input, preferred_output, non_preferred_output" },
  { format: "parquet", label: "Parquet", note: "for pandas, Spark, DuckDB" },
] as const;

/** A plain link: the browser downloads it with the cookie. */
export const exportAddress = (id: string, version: number, format: string): string =>
  `/v1/datasets/${id}/export?${new URLSearchParams({ format, version: String(version) }).toString()}`;
