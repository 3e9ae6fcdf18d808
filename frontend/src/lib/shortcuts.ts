import { useEffect, useEffectEvent } from "react";
import { tinykeys } from "tinykeys";
import { readText, writeText } from "@/lib/stored";

/** Keys as people read them, and their effect. */
type KeyRow = readonly [keys: string, effect: string];

/** Keys that work on a part of a page. */
export interface KeyGroup {
  readonly heading: string;
  readonly rows: readonly KeyRow[];
}

let groups: readonly KeyGroup[] = [];

/** Lists keys while the component is on the page. Pass the same object each time. */
export function useListedKeys(group: KeyGroup | null): void {
  useEffect(() => {
    if (!group) return;
    groups = [...groups, group];
    return () => {
      const at = groups.indexOf(group);
      groups = groups.toSpliced(at, 1);
    };
  }, [group]);
}

/** The keys that work on the page now. Groups with one heading are one, and equal rows are one. */
export function listedKeys(of: readonly KeyGroup[] = groups): readonly KeyGroup[] {
  const found = new Map<string, Map<string, KeyRow>>();
  for (const { heading, rows } of of) {
    const merged = found.get(heading) ?? new Map<string, KeyRow>();
    for (const row of rows) merged.set(row[0], row);
    found.set(heading, merged);
  }
  return [...found].map(([heading, rows]) => ({ heading, rows: [...rows.values()] }));
}

const SINGLE_KEYS = "proximal-single-keys";
let single: boolean | null = null;

/** Whether keys without Ctrl work on the whole page. People who dictate to the browser turn them off. */
export const hasSingleKeys = (): boolean => (single ??= readText(SINGLE_KEYS) !== "off");

export function setSingleKeys(on: boolean): void {
  single = on;
  writeText(SINGLE_KEYS, on ? "on" : "off");
}

/** Between two keys of a sequence. A page that draws its charts may be busy for a second. */
const PAUSE_MS = 2500;

/** A slider and a box to tick take no letters. */
const TAKING =
  "input:not([type=range], [type=checkbox], [type=radio]), textarea, select, [contenteditable], [role=dialog]";

/** Whether keys that are typed here belong to a field, a dialog or a page with keys of its own. */
function isTaken(target: EventTarget | null, path: string): boolean {
  if (/^\/annotate\/[^/]+\/queue$/.test(path)) return true;
  if (!(target instanceof Element)) return false;
  return target.closest(TAKING) !== null;
}

/**
 * Calls `run` with what stands beside a key, in the syntax of tinykeys, unless the key belongs to something else. Pass the same
 * keys each time.
 */
export function useSingleKeys<Action>(keys: Readonly<Record<string, Action>>, run: (action: Action) => void): void {
  const press = useEffectEvent((event: KeyboardEvent, action: Action) => {
    if (!hasSingleKeys() || event.defaultPrevented || isTaken(event.target, window.location.pathname)) return;
    event.preventDefault();
    run(action);
  });
  useEffect(() => {
    const bound = Object.entries(keys).map(
      ([key, action]) => [key, (event: KeyboardEvent) => press(event, action)] as const,
    );
    return tinykeys(window, Object.fromEntries(bound), { timeout: PAUSE_MS });
  }, [keys]);
}
