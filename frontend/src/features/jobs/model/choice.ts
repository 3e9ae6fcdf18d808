import type { JobFilter } from "@/features/jobs/api";
import { asSort, type JobSort } from "@/features/jobs/model/columns";

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
/** The severity of the gravest finding of a job. */
export const HEALTH = ["error", "warning", "none"] as const;
export type Health = (typeof HEALTH)[number];
type Status = (typeof STATUSES)[number];

/** Which jobs the list shows, and in which order. */
export interface Choice {
  readonly search: string;
  readonly statuses: readonly Status[];
  readonly health: readonly Health[];
  readonly tags: readonly string[];
  readonly archived: boolean;
  /** Conditions on fields and metrics, such as `spec:ppo.kl.coef>=0.1`. */
  readonly where: readonly string[];
  /** Whether the jobs of a group are rows of their own. */
  readonly flat: boolean;
  /** Null is newest first. */
  readonly sort: JobSort | null;
}

/** Reads the choice from an address. Invalid parameters count as absent. */
export function readChoice(params: URLSearchParams): Choice {
  const wanted = params.getAll("status");
  return {
    search: (params.get("q") ?? "").trim().slice(0, 200),
    statuses: STATUSES.filter((status) => wanted.includes(status)),
    health: HEALTH.filter((one) => params.getAll("health").includes(one)),
    tags: [...new Set(params.getAll("tag").filter(Boolean))],
    archived: params.get("archived") === "1",
    where: [...new Set(params.getAll("where").filter(Boolean))],
    flat: params.get("flat") === "1",
    sort: asSort(params.get("sort")),
  };
}

/** The address of a choice: only what differs from the whole list is in it. */
export function writeChoice({ search, statuses, health, tags, archived, where, flat, sort }: Choice): URLSearchParams {
  return new URLSearchParams([
    ...(search ? [["q", search]] : []),
    ...statuses.map((status) => ["status", status]),
    ...health.map((one) => ["health", one]),
    ...tags.map((tag) => ["tag", tag]),
    ...(archived ? [["archived", "1"]] : []),
    ...where.map((one) => ["where", one]),
    ...(flat ? [["flat", "1"]] : []),
    ...(sort ? [["sort", sort]] : []),
  ]);
}

/** The query of a request for these jobs. */
export const filterOf = ({ search, statuses, health, tags, archived, where, flat, sort }: Choice): JobFilter => ({
  ...(search && { text: search }),
  ...(statuses.length > 0 && { status: [...statuses] }),
  ...(health.length > 0 && { health: [...health] }),
  ...(tags.length > 0 && { tag: [...tags] }),
  ...(archived && { archived }),
  ...(where.length > 0 && { where: [...where] }),
  ...(!flat && { fold: true }),
  ...(sort && { sort }),
});

export const isFiltered = (choice: Choice): boolean =>
  Object.keys(filterOf({ ...choice, flat: true, sort: null })).length > 0;

export const UNFILTERED = {
  search: "",
  statuses: [],
  health: [],
  tags: [],
  archived: false,
  where: [],
} as const satisfies Partial<Choice>;
