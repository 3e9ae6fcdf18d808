import { type FieldColumn, isFieldColumn, nameOfColumn } from "@/features/jobs/model/fields";
import type { JobSummary } from "@/lib/api/types";

/** The columns that can be shown beside the name of a job. The server sorts by those that sort: texts from A on, at first. */
export const COLUMNS = [
  { id: "status", label: "Status", sorts: "up" },
  { id: "model", label: "Model", sorts: "up" },
  { id: "progress", label: "Progress", sorts: "down" },
  { id: "reward", label: "PPO reward", sorts: "down" },
  { id: "kl", label: "KL", sorts: "down" },
  { id: "win_rate", label: "Win rate", sorts: "down" },
  { id: "judge", label: "Judge", sorts: "down" },
  { id: "health", label: "Health", sorts: "down" },
  { id: "tags", label: "Tags", sorts: null },
  { id: "group", label: "Group", sorts: "up" },
  { id: "created", label: "Created", sorts: "down" },
  { id: "ended", label: "Ended", sorts: "down" },
  { id: "duration", label: "Duration", sorts: "down" },
  { id: "gpu_hours", label: "GPU-hours", sorts: "down" },
  { id: "submitted_by", label: "Submitted by", sorts: "up" },
] as const;
export type FixedColumn = (typeof COLUMNS)[number]["id"];
/** A column of the list: one of the above, or a field of the spec or a metric. */
export type ColumnId = FixedColumn | FieldColumn;
const IDS: readonly FixedColumn[] = COLUMNS.map(({ id }) => id);

/** Most columns of fields and metrics that the server returns. */
export const MOST_FIELD_COLUMNS = 20;

export const fieldsIn = (columns: readonly ColumnId[]): readonly FieldColumn[] => columns.filter(isFieldColumn);

export const labelOfColumn = (id: ColumnId): string =>
  isFieldColumn(id) ? nameOfColumn(id) : (COLUMNS.find((column) => column.id === id)?.label ?? id);

/** The order of the list: a name of the server, with "-" in front for descending. */
export type JobSort = string;

interface Sort {
  readonly id: string;
  readonly label: string;
  readonly first: JobSort;
}

/** The columns that sort the list, each with its first order. */
const SORTS: readonly Sort[] = [
  { id: "name", label: "Name", first: "name" },
  ...COLUMNS.flatMap(({ id, label, sorts }) => (sorts ? [{ id, label, first: sorts === "down" ? `-${id}` : id }] : [])),
];

/** The orders to choose from: those above, and those of the fields and metrics that are columns or sort the list. */
export function sortsFor(columns: readonly ColumnId[], sort: JobSort | null): readonly Sort[] {
  const by = sort?.replace(/^-/, "") ?? "";
  const fields = new Set([...fieldsIn(columns), ...(isFieldColumn(by) ? [by] : [])]);
  return [
    ...SORTS,
    ...[...fields].map((id) => ({ id, label: nameOfColumn(id), first: id.startsWith("metric:") ? `-${id}` : id })),
  ];
}

/** The order as an address names it; null for an unknown one. */
export function asSort(text: string | null): JobSort | null {
  const by = text?.replace(/^-/, "") ?? "";
  return isFieldColumn(by) || SORTS.some(({ id }) => id === by) ? text : null;
}

export const reversed = (sort: JobSort): JobSort => (sort.startsWith("-") ? sort.slice(1) : `-${sort}`);

const START: readonly FixedColumn[] = ["status", "progress", "reward", "health", "tags", "created", "duration"];
/** Shown at first on a wide screen, in addition. */
const WIDE_START: readonly FixedColumn[] = [...START, "model", "kl", "win_rate", "gpu_hours"];

/** Reads the chosen columns from a stored text such as "status,kl", in its order. Unknown ones are left out. */
export function readColumns(text: string | null, isWide = false): readonly ColumnId[] {
  if (text === null) return isWide ? IDS.filter((id) => WIDE_START.includes(id)) : START;
  return [...new Set(text.split(","))].flatMap((name) =>
    isFieldColumn(name) ? name : (IDS.find((id) => id === name) ?? []),
  );
}

/** All columns for a menu: the chosen ones in their order, each of the others after the one that it follows at first. */
export function orderedColumns(chosen: readonly ColumnId[]): readonly ColumnId[] {
  const order = [...chosen];
  for (const [at, id] of IDS.entries())
    if (!chosen.includes(id)) order.splice(at === 0 ? 0 : order.indexOf(IDS[at - 1] ?? id) + 1, 0, id);
  return order;
}

/** The order with one column moved by a number of places. */
export function withMoved(order: readonly ColumnId[], id: ColumnId, by: number): readonly ColumnId[] {
  const rest = order.filter((one) => one !== id);
  const to = Math.max(0, order.indexOf(id) + by);
  return [...rest.slice(0, to), id, ...rest.slice(to)];
}

/** KL of the result; while a job runs, of its newest step. */
export const klOf = (job: Pick<JobSummary, "summary" | "latest_metrics">): number | undefined =>
  job.summary?.kl ?? job.latest_metrics["objective/kl"];
