import { useCallback } from "react";
import { useAddress } from "@/components/use-address";
import type { DatasetFilter } from "@/features/datasets/api/datasets";
import { KINDS } from "@/features/datasets/model/kinds";

interface ListFilter {
  filter: DatasetFilter;
  isFiltered: boolean;
  change: (change: Partial<DatasetFilter>) => void;
}

/** Which datasets are listed, kept in the address. */
export function useListFilter(): ListFilter {
  const [params, setParams] = useAddress();
  const filter = read(params);
  const change = useCallback(
    (changed: Partial<DatasetFilter>) => setParams((before) => write({ ...read(before), ...changed })),
    [setParams],
  );
  return { filter, isFiltered: write(filter).size > 0, change };
}

const read = (params: URLSearchParams): DatasetFilter => ({
  search: params.get("q") ?? "",
  kind: KINDS.find((kind) => kind.id === params.get("kind"))?.id ?? null,
  archived: params.get("archived") === "1",
});

function write({ search, kind, archived }: DatasetFilter): URLSearchParams {
  return new URLSearchParams({
    ...(search && { q: search }),
    ...(kind && { kind }),
    ...(archived && { archived: "1" }),
  });
}
