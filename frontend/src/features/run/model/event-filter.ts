import { describe, levelOf, programNames } from "@/features/run/model/describe";
import type { JobEvent } from "@/lib/api/types";
import type { LabelOf } from "@/lib/labels";

export interface EventFilter {
  /** Words that the line of an event contains, in any case. */
  readonly text: string;
  /** Empty for all. */
  readonly type: string;
  readonly stage: string;
  /** Warnings and errors only. */
  readonly trouble: boolean;
}

const NAMES = { text: "find", type: "type", stage: "in", trouble: "trouble" } as const;

export const readEventFilter = (params: URLSearchParams): EventFilter => ({
  text: params.get(NAMES.text) ?? "",
  type: params.get(NAMES.type) ?? "",
  stage: params.get(NAMES.stage) ?? "",
  trouble: params.get(NAMES.trouble) === "1",
});

export function writeEventFilter(before: URLSearchParams, filter: EventFilter): URLSearchParams {
  const after = new URLSearchParams(before);
  const values = { ...filter, trouble: filter.trouble ? "1" : "" };
  for (const [key, name] of Object.entries(NAMES)) {
    const value = values[key as keyof EventFilter];
    if (value) after.set(name, value);
    else after.delete(name);
  }
  return after;
}

/** The events that the filter leaves, newest first. */
export function filterEvents(
  log: readonly JobEvent[],
  { text, type, stage, trouble }: EventFilter,
  labelOf?: LabelOf,
): JobEvent[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (event: JobEvent) => {
    const type = event.type.replaceAll("_", " ");
    const line = `${type} ${describe(event, labelOf)} ${programNames(event)} #${event.seq}`.toLowerCase();
    return words.every((word) => line.includes(word));
  };
  return log
    .filter((event) => (!type || event.type === type) && (!stage || event.stage === stage))
    .filter((event) => (!trouble || levelOf(event) !== "info") && (!words.length || has(event)))
    .toReversed();
}

/** The types that occur, each once, in order of the alphabet. */
export const typesOf = (log: readonly JobEvent[]): string[] => [...new Set(log.map((event) => event.type))].sort();
