import type { DatasetFilter, DatasetSort } from "@/features/datasets/api/datasets";
import { KINDS } from "@/features/datasets/model/kinds";

export const ORDERS: readonly { readonly sort: DatasetSort; readonly label: string }[] = [
  { sort: "-created", label: "Newest first" },
  { sort: "created", label: "Oldest first" },
  { sort: "name", label: "Name from A" },
  { sort: "-name", label: "Name from Z" },
  { sort: "kind", label: "Kind from A" },
  { sort: "-kind", label: "Kind from Z" },
  { sort: "-rows", label: "Most rows first" },
  { sort: "rows", label: "Fewest rows first" },
  { sort: "-size", label: "Largest first" },
  { sort: "size", label: "Smallest first" },
];

/** The order as an address names it; null for an unknown one. */
export const asSort = (text: string | null): DatasetSort | null =>
  ORDERS.find(({ sort }) => sort === text)?.sort ?? null;

/** Reads the filters from an address. Invalid parameters count as absent. */
export const readFilter = (params: URLSearchParams): DatasetFilter => ({
  search: params.get("q") ?? "",
  kind: KINDS.find((kind) => kind.id === params.get("kind"))?.id ?? null,
  archived: params.get("archived") === "1",
  sort: asSort(params.get("sort")),
});

/** The address of a list: only what differs from the whole list is in it. */
export function writeFilter({ search, kind, archived, sort }: DatasetFilter): URLSearchParams {
  return new URLSearchParams({
    ...(search && { q: search }),
    ...(kind && { kind }),
    ...(archived && { archived: "1" }),
    ...(sort && { sort }),
  });
}
