import { queryOptions } from "@tanstack/react-query";
import { datasetsKey } from "@/features/datasets/api/datasets";
import { answer, api } from "@/lib/api/client";

export interface RowsWanted {
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
