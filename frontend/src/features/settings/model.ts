import type { Usage } from "@/features/settings/api";
import { bytes, measured, number } from "@/lib/format";

export interface UsageLine {
  readonly name: string;
  /** "2 of 8", or "2" where there is no limit. */
  readonly text: string;
  /** 0 to 1; null where there is no limit. */
  readonly fraction: number | null;
}

const LINES = [
  ["open_jobs", "Unfinished jobs", number],
  ["running_jobs", "Running jobs", number],
  ["gpus", "GPUs in use", number],
  ["gpu_hours", "GPU-hours this month", measured],
  ["stored_bytes", "Stored data", bytes],
] as const;

/** The caller's use beside its limits. */
export function usageLines({ used, limits }: Pick<Usage, "used" | "limits">): UsageLine[] {
  return LINES.map(([field, name, format]) => {
    const limit = limits[field];
    const now = format(used[field]);
    if (limit === null) return { name, text: now, fraction: null };
    return { name, text: `${now} of ${format(limit)}`, fraction: limit > 0 ? used[field] / limit : 1 };
  });
}
