import { useSyncExternalStore } from "react";
import { Button } from "@/components/button";
import { AutoIcon, MoonIcon, SunIcon } from "@/components/icons";

type Theme = "system" | "light" | "dark";

const KEY = "proximal-theme";
const root = document.documentElement;
const listeners = new Set<() => void>();

function read(): Theme {
  const theme = root.dataset.theme;
  return theme === "light" || theme === "dark" ? theme : "system";
}

/** Remembered in the browser; `system` follows the machine and remembers nothing. */
function setTheme(theme: Theme): void {
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

const useTheme = (): Theme => useSyncExternalStore(subscribe, read);

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const ICONS = { system: AutoIcon, light: SunIcon, dark: MoonIcon };
const NAMES = { system: "as the system", light: "light", dark: "dark" };

export function ThemeButton() {
  const theme = useTheme();
  const Icon = ICONS[theme];
  const text = `Theme: ${NAMES[theme]}. Change to ${NAMES[NEXT[theme]]}.`;
  return (
    <Button look="quiet" onClick={() => setTheme(NEXT[theme])} aria-label={text} title={text}>
      <Icon />
    </Button>
  );
}
