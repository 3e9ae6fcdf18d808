import type { Usage } from "@/features/settings/api";
import { bytes, measured, number } from "@/lib/format";
import { visible } from "@/lib/visible";

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

/** In this order: Edge, Opera and Chrome also name the browsers after them. */
const BROWSERS = [
  [/\bEdg\w*\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bFirefox\//, "Firefox"],
  [/Chrome\//, "Chrome"],
  [/\bSafari\//, "Safari"],
] as const;
const SYSTEMS = [
  [/\biPhone\b|\biPad\b/, "iOS"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bLinux\b/, "Linux"],
] as const;
const LONGEST_AGENT = 40;

/** A user agent for people, such as "Firefox on Linux". Another program is named as it names itself. */
export function browserName(agent: string | null): string {
  if (!agent) return "Unknown browser";
  const [browser, system] = [BROWSERS, SYSTEMS].map((names) => names.find(([mark]) => mark.test(agent))?.[1]);
  if (browser) return system ? `${browser} on ${system}` : browser;
  const shown = visible(agent);
  return shown.length > LONGEST_AGENT ? `${shown.slice(0, LONGEST_AGENT)}…` : shown;
}
