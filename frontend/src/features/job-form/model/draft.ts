import type { UnreadableTexts } from "@/features/job-form/model/problems";
import { isObject, type JsonObject } from "@/features/job-form/model/spec";
import { readText, removeText, writeText } from "@/lib/stored";

const KEY = "proximal-new-job";

export interface Draft {
  readonly spec: JsonObject;
  readonly variations: Record<string, string>;
  /** The texts that cannot be read. A draft of an older release has none. */
  readonly unreadable: UnreadableTexts;
}

/** The draft of the form that was left; null without one. */
export function readDraft(): Draft | null {
  try {
    const stored: unknown = JSON.parse(readText(KEY) ?? "null");
    if (!isObject(stored) || !isObject(stored.spec) || !isObject(stored.variations)) return null;
    const variations = Object.entries(stored.variations).filter(([, text]) => typeof text === "string");
    const unreadable = Object.entries(isObject(stored.unreadable) ? stored.unreadable : {}).filter(([, one]) =>
      isUnreadable(one),
    );
    return {
      spec: stored.spec,
      variations: Object.fromEntries(variations) as Record<string, string>,
      unreadable: Object.fromEntries(unreadable) as unknown as UnreadableTexts,
    };
  } catch {
    return null;
  }
}

const isUnreadable = (value: unknown): boolean =>
  isObject(value) && typeof value.text === "string" && typeof value.fault === "string";

export const writeDraft = (draft: Draft): void => writeText(KEY, JSON.stringify(draft));
export const discardDraft = (): void => removeText(KEY);
