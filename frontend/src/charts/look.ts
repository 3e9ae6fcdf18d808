import { useSyncExternalStore } from "react";
import { readText, writeText } from "@/lib/stored";

export const SIZES = ["small", "medium", "large"] as const;
export type Size = (typeof SIZES)[number];

/** Charts side by side at most. */
export const MOST_COLUMNS = 8;

/** How large charts are and what is marked on them. It suits a screen, so each browser keeps its own. */
export interface Look {
  /** Null for the size that suits the screen. */
  readonly size: Size | null;
  /** Null for as many columns as suit the size. */
  readonly columns: number | null;
  /** Whether events are marked on the charts. */
  readonly marks: boolean;
}

export const USUAL_LOOK: Look = { size: null, columns: null, marks: true };

/** The look in a stored text. Parts that make no sense are as usual. */
export function readLook(text: string | null): Look {
  const stored = parsed(text);
  const columns = Number(stored.columns);
  return {
    size: SIZES.find((size) => size === stored.size) ?? null,
    columns: Number.isInteger(columns) && columns >= 1 && columns <= MOST_COLUMNS ? columns : null,
    marks: stored.marks !== false,
  };
}

function parsed(text: string | null): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const KEY = "proximal-charts";
let look: Look | undefined;
const listeners = new Set<() => void>();

const current = (): Look => (look ??= readLook(readText(KEY)));

function set(next: Look): void {
  look = next;
  listeners.forEach((listener) => listener());
}

export function changeLook(change: Partial<Look>): void {
  set({ ...current(), ...change });
  writeText(KEY, JSON.stringify(look));
}

/** A change in another tab arrives, too. */
function subscribe(listener: () => void): () => void {
  const onStored = (event: StorageEvent) => event.key === KEY && set(readLook(event.newValue));
  listeners.add(listener);
  window.addEventListener("storage", onStored);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", onStored);
  };
}

export const useLook = (): Look => useSyncExternalStore(subscribe, current);

/** Pixels of a plot, and the least width of its card. */
const MEASURES: Record<Size, { readonly height: number; readonly width: string }> = {
  small: { height: 132, width: "19rem" },
  medium: { height: 236, width: "35rem" },
  large: { height: 400, width: "56rem" },
};

let media: MediaQueryList | undefined;
const wideMedia = () => (media ??= window.matchMedia("(width >= 112rem)"));
const onWidth = (changed: () => void) => {
  wideMedia().addEventListener("change", changed);
  return () => wideMedia().removeEventListener("change", changed);
};

/** The size that counts: the chosen one, or else the one that suits the screen. */
export function useSize(): { readonly size: Size; readonly height: number; readonly width: string } {
  const { size } = useLook();
  const usual = useSyncExternalStore(onWidth, () => (wideMedia().matches ? "medium" : "small"));
  const shown = size ?? usual;
  return { size: shown, ...MEASURES[shown] };
}
