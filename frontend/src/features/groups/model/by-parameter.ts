import { meanWithInterval } from "@/charts/average";
import type { GroupJob } from "@/features/groups/api";
import { sortValue, valueText } from "@/features/groups/model/parameters";

type Run = Pick<GroupJob, "values" | "objective">;

/** The objectives of the runs with one value of a parameter. */
export interface ValueRow {
  readonly value: unknown;
  /** "not set" for runs without the parameter. */
  readonly text: string;
  /** Number of runs with an objective. */
  readonly n: number;
  /** Number of all runs with the value. */
  readonly runs: number;
  readonly mean: number | null;
  /** Half of the 95 % interval; null below two runs. */
  readonly half: number | null;
}

/** A row for each value of the parameter: numbers by size, then other values, runs without it last. */
export function byParameter(jobs: readonly Run[], path: string): ValueRow[] {
  const groups = new Map<string, Run[]>();
  for (const job of jobs) {
    const key = path in job.values ? JSON.stringify(job.values[path]) : "";
    groups.set(key, [...(groups.get(key) ?? []), job]);
  }
  const rows = [...groups].map(([key, runs]) => rowOf(key ? runs[0]?.values[path] : undefined, runs));
  return rows.sort((a, b) => compare(a.value, b.value));
}

function rowOf(value: unknown, runs: readonly Run[]): ValueRow {
  const found = runs.flatMap(({ objective }) => objective ?? []);
  const row = { value, text: value === undefined ? "not set" : valueText(value), n: found.length, runs: runs.length };
  const [first = null] = found;
  if (found.length < 2) return { ...row, mean: first, half: null };
  return { ...row, ...meanWithInterval(found) };
}

function compare(a: unknown, b: unknown): number {
  const [x, y] = [sortValue(a), sortValue(b)];
  if (typeof x === "number" && typeof y === "number") return x - y;
  const rank = (one: typeof x) => (one === undefined ? 2 : typeof one === "number" ? 0 : 1);
  return rank(x) - rank(y) || String(x).localeCompare(String(y));
}
