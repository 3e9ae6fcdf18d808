import { useSyncExternalStore } from "react";

export interface Palette {
  readonly lines: readonly string[];
  readonly grid: string;
  readonly text: string;
  readonly surface: string;
  readonly warn: string;
  readonly good: string;
}

const scheme = window.matchMedia("(prefers-color-scheme: dark)");

function subscribe(listener: () => void): () => void {
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  scheme.addEventListener("change", listener);
  return () => {
    observer.disconnect();
    scheme.removeEventListener("change", listener);
  };
}

const read = (): string => `${document.documentElement.dataset.theme ?? "system"}/${scheme.matches}`;

/** Changes whenever the colours do. */
export const useScheme = (): string => useSyncExternalStore(subscribe, read);

/** The present colours as a canvas needs them: `light-dark()` is resolved by the browser on a real element. */
export function readPalette(element: HTMLElement): Palette {
  const probe = document.createElement("span");
  // Where motion is reduced every change lasts a moment, and until then the colour before would be read.
  probe.style.transitionProperty = "none";
  element.append(probe);
  const colour = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const palette = {
    lines: [colour("chart-1"), colour("chart-2"), colour("chart-3")],
    grid: colour("chart-grid"),
    text: colour("ink-3"),
    surface: colour("surface"),
    warn: colour("warn"),
    good: colour("good"),
  };
  probe.remove();
  return palette;
}

/** The same colour, seen through. */
export const faint = (colour: string, alpha: number): string =>
  colour.replace(/^rgb\((.*)\)$/, (_, parts: string) => `rgba(${parts}, ${alpha})`);
