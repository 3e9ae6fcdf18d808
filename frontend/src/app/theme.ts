import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

const KEY = "proximal-theme";
const root = document.documentElement;
const listeners = new Set<() => void>();

function read(): Theme {
  const theme = root.dataset.theme;
  return theme === "light" || theme === "dark" ? theme : "system";
}

/** Remembered in the browser; `system` follows the machine and remembers nothing. */
export function setTheme(theme: Theme): void {
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
  try {
    if (theme === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // Storage may be blocked: the theme then lasts until the page is left.
  }
  listeners.forEach((listener) => listener());
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useTheme = (): Theme => useSyncExternalStore(subscribe, read);
