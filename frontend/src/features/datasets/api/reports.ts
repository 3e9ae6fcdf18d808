import { queryOptions } from "@tanstack/react-query";
import { datasetsKey } from "@/features/datasets/api/datasets";
import { answer, api } from "@/lib/api/client";

const at = (id: string) => ({ path: { dataset_id: id } });

/** The reports on a version, newest first. */
export const reportsQuery = (id: string, version: number) =>
  queryOptions({
    queryKey: [...datasetsKey, id, "reports", version],
    queryFn: async () => {
      const query = { version, limit: 50 };
      return (await answer(api.GET("/v1/datasets/{dataset_id}/reports", { params: { ...at(id), query } }))).data;
    },
  });

export interface ReportWanted {
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
