import { queryOptions } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { accepted, answer, api, isPassing } from "@/lib/api/client";
import { readText, writeText } from "@/lib/stored";

/** How pages look for a user: on the server for every browser, and in this one so that no page waits for it. */
interface Entry {
  readonly value: unknown;
  /** Whether the server does not have the value yet. */
  readonly unsent: boolean;
}

let key = "";
let entries: Readonly<Record<string, Entry>> = {};
let clock = 0;
/** When each setting was changed or sent last. An answer that was asked for before is older. */
const changedAt = new Map<string, number>();
const sending = new Set<string>();
const listeners = new Set<() => void>();
/** Whether changes are kept. In the read-only view they last until the settings are loaded again. */
let isKept = true;
let onRefused: (error: Error) => void = () => undefined;

/** Begins with the settings of an owner, as this browser has them. */
export function openViewSettings(owner: string): void {
  const wanted = `proximal-view-${owner}`;
  if (key === wanted) return;
  key = wanted;
  entries = parsed(readText(key));
}

function parsed(text: string | null): Record<string, Entry> {
  try {
    return text ? (JSON.parse(text) as Record<string, Entry>) : {};
  } catch {
    return {};
  }
}

function show(next: Readonly<Record<string, Entry>>): void {
  entries = next;
  listeners.forEach((listener) => listener());
}

function store(next: Readonly<Record<string, Entry>>): void {
  show(next);
  writeText(key, JSON.stringify(entries));
}

function storeOne(name: string, entry: Entry): void {
  changedAt.set(name, ++clock);
  store({ ...entries, [name]: entry });
}

/** Sends a changed setting, and again what changed meanwhile. Without an answer it is sent with the next load. */
async function send(name: string): Promise<void> {
  if (sending.has(name)) return;
  sending.add(name);
  try {
    for (let entry = entries[name]; entry?.unsent; entry = entries[name]) {
      const { value } = entry;
      await accepted(api.PUT("/v1/view-settings/{name}", { params: { path: { name } }, body: { value } }));
      if (entries[name] === entry) storeOne(name, { value, unsent: false });
    }
  } catch (error) {
    if (!isPassing(error)) onRefused(error instanceof Error ? error : new Error(String(error)));
  } finally {
    sending.delete(name);
  }
}

/** Takes over the server's settings. Changes of this browser that are newer than `asked` stay, and are sent. */
export function takeSettings(found: readonly { name: string; value?: unknown }[], asked: number): void {
  const isOurs = (name: string) => entries[name]?.unsent === true || (changedAt.get(name) ?? 0) > asked;
  const own = Object.entries(entries).filter(([name]) => isOurs(name));
  const theirs = found
    .filter(({ name }) => !isOurs(name))
    .map(({ name, value }): [string, Entry] => {
      const known = entries[name];
      const isSame = JSON.stringify(known?.value) === JSON.stringify(value);
      return [name, known && isSame ? known : { value, unsent: false }];
    });
  store(Object.fromEntries([...own, ...theirs]));
  for (const [name] of own) void send(name);
}

/** Loads the settings of the user, who may have changed them in another browser. */
export const viewSettingsQuery = queryOptions({
  queryKey: ["view-settings"],
  queryFn: async () => {
    const asked = clock;
    takeSettings((await answer(api.GET("/v1/view-settings"))).data, asked);
    return null;
  },
  staleTime: 60_000,
});

/** Calls `refused` when the server refuses a setting, which then stays in this browser. */
export function onRefusedSetting(refused: (error: Error) => void): void {
  onRefused = refused;
}

/** Keeps the changes that follow in this browser and on the server, or only shows them. */
export function keepViewSettings(on: boolean): void {
  isKept = on;
}

export interface ViewSetting<T> {
  readonly get: () => T;
  /** Changes it, also when its page has been left: an undo may come later. */
  readonly change: (change: (before: T) => T) => void;
}

/** A setting by its name. `read` makes sense of any stored value, also of none and of one of another version. */
export function viewSetting<T>(name: string, read: (value: unknown) => T): ViewSetting<T> {
  let latest: { value: unknown; made: T } | null = null;
  const get = (): T => {
    const value = entries[name]?.value;
    if (latest?.value !== value || !latest) latest = { value, made: read(value) };
    return latest.made;
  };
  const change = (changed: (before: T) => T) => {
    const value = changed(get());
    if (isKept) {
      storeOne(name, { value, unsent: true });
      void send(name);
    } else show({ ...entries, [name]: { value, unsent: false } });
  };
  return { get, change };
}

/** The value of a setting. A change in another tab or browser arrives, too. */
export const useViewSetting = <T>({ get }: ViewSetting<T>): T => useSyncExternalStore(subscribe, get);

function subscribe(listener: () => void): () => void {
  const onStored = (event: StorageEvent) => {
    if (event.key === key) entries = parsed(event.newValue);
    listener();
  };
  listeners.add(listener);
  window.addEventListener("storage", onStored);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", onStored);
  };
}
