import type { JobFilter } from "@/features/jobs/api";
import { COLUMNS, type ColumnId } from "@/features/jobs/model/columns";

export const STATUSES = [
  "queued",
  "starting",
  "running",
  "pausing",
  "paused",
  "cancelling",
  "succeeded",
  "failed",
  "cancelled",
] as const;
type Status = (typeof STATUSES)[number];

export interface Sort {
  readonly by: ColumnId | "name";
  readonly isDescending: boolean;
}

/** Which jobs the list shows, and in which order. */
export interface Choice {
  readonly search: string;
  readonly statuses: readonly Status[];
  readonly tags: readonly string[];
  readonly archived: boolean;
  /** Null is the order of the server: newest first. */
  readonly sort: Sort | null;
}

/** Reads the choice from an address. Invalid parameters count as absent. */
export function readChoice(params: URLSearchParams): Choice {
  const wanted = params.getAll("status");
  return {
    search: (params.get("q") ?? "").trim().slice(0, 200),
    statuses: STATUSES.filter((status) => wanted.includes(status)),
    tags: [...new Set(params.getAll("tag").filter(Boolean))],
    archived: params.get("archived") === "1",
    sort: readSort(params.get("sort")),
  };
}

/** The address of a choice: only what differs from the whole list is in it. */
export function writeChoice({ search, statuses, tags, archived, sort }: Choice): URLSearchParams {
  return new URLSearchParams([
    ...(search ? [["q", search]] : []),
    ...statuses.map((status) => ["status", status]),
    ...tags.map((tag) => ["tag", tag]),
    ...(archived ? [["archived", "1"]] : []),
    ...(sort ? [["sort", `${sort.isDescending ? "-" : ""}${sort.by}`]] : []),
  ]);
}

function readSort(text: string | null): Sort | null {
  const name = text?.replace(/^-/, "");
  const by = name === "name" ? name : COLUMNS.find((column) => column.id === name && column.sorts)?.id;
  return by ? { by, isDescending: text?.startsWith("-") ?? false } : null;
}

export const filterOf = ({ search, statuses, tags, archived }: Choice): JobFilter => ({
  ...(search && { text: search }),
  ...(statuses.length > 0 && { status: [...statuses] }),
  ...(tags.length > 0 && { tag: [...tags] }),
  ...(archived && { archived }),
});

export const isFiltered = (choice: Choice): boolean => Object.keys(filterOf(choice)).length > 0;

export const UNFILTERED = { search: "", statuses: [], tags: [], archived: false } as const satisfies Partial<Choice>;

/** Highest first, lowest first, then the order of the server again. A name starts with A. */
export function nextSort(sort: Sort | null, by: Sort["by"]): Sort | null {
  const first = by !== "name";
  if (sort?.by !== by) return { by, isDescending: first };
  return sort.isDescending === first ? { by, isDescending: !first } : null;
}
