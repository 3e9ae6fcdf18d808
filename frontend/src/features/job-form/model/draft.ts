import type { UnreadableTexts } from "@/features/job-form/model/problems";
import { isObject, type JsonObject } from "@/features/job-form/model/spec";
import { PRIORITIES, QUEUEING, type Queueing } from "@/features/job-form/model/submission";
import { NO_OPTIONS, type SweepOptions } from "@/features/job-form/model/sweep";
import { readText, removeText, writeText } from "@/lib/stored";

const KEY = "proximal-new-job";

export interface Draft {
  readonly spec: JsonObject;
  readonly variations: Record<string, string>;
  /** The texts of the card of a sweep. */
  readonly options: SweepOptions;
  /** The texts that cannot be read. */
  readonly unreadable: UnreadableTexts;
  /** How the job is to wait. Its group comes from the address of the page. */
  readonly queueing: Pick<Queueing, "priority" | "preemptible">;
}

/** The draft of the form that was left; null without one. */
export function readDraft(): Draft | null {
  try {
    const stored: unknown = JSON.parse(readText(KEY) ?? "null");
    if (!isObject(stored) || !isObject(stored.spec) || !isObject(stored.variations)) return null;
    const options = isObject(stored.options) ? stored.options : {};
    const unreadable = Object.entries(isObject(stored.unreadable) ? stored.unreadable : {}).filter(([, one]) =>
      isUnreadable(one),
    );
    return {
      spec: stored.spec,
      variations: textsOf(stored.variations),
      options: { ...NO_OPTIONS, ...textsOf(options), goal: options.goal === "minimize" ? "minimize" : "maximize" },
      unreadable: Object.fromEntries(unreadable) as unknown as UnreadableTexts,
      queueing: queueingOf(isObject(stored.queueing) ? stored.queueing : {}),
    };
  } catch {
    return null;
  }
}

const textsOf = (stored: JsonObject): Record<string, string> =>
  Object.fromEntries(Object.entries(stored).filter((one): one is [string, string] => typeof one[1] === "string"));

const queueingOf = (stored: JsonObject): Draft["queueing"] => ({
  priority: PRIORITIES.find((one) => one === stored.priority) ?? QUEUEING.priority,
  preemptible: stored.preemptible === true,
});

const isUnreadable = (value: unknown): boolean =>
  isObject(value) && typeof value.text === "string" && typeof value.fault === "string";

export const writeDraft = (draft: Draft): void => writeText(KEY, JSON.stringify(draft));
export const discardDraft = (): void => removeText(KEY);
