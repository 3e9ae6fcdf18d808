import { useSyncExternalStore } from "react";

export interface Palette {
  readonly lines: readonly string[];
  readonly grid: string;
  readonly text: string;
  readonly surface: string;
  readonly warn: string;
  readonly good: string;
  readonly accent: string;
  readonly ink: string;
}

/** Colours for lines. A line beyond them has the colour of an earlier one. */
export const LINE_COLOURS = 8;

let media: MediaQueryList | undefined;
const darkMedia = () => (media ??= window.matchMedia("(prefers-color-scheme: dark)"));

function subscribe(listener: () => void): () => void {
  const observer = new MutationObserver(listener);
  const scheme = darkMedia();
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  scheme.addEventListener("change", listener);
  return () => {
    observer.disconnect();
    scheme.removeEventListener("change", listener);
  };
}

const read = (): string => `${document.documentElement.dataset.theme ?? "system"}/${darkMedia().matches}`;

/** Changes whenever the colours do. */
export const useScheme = (): string => useSyncExternalStore(subscribe, read);

/** The present colours as a canvas needs them: `light-dark()` is resolved by the browser on a real element. */
export function readPalette(element: HTMLElement): Palette {
  const probe = document.createElement("span");
  // Where motion is reduced every change lasts a moment, and until then the colour before would be read.
  probe.style.transitionProperty = "none";
  // The canvas keeps its colours where the system forces its own.
  probe.style.setProperty("forced-color-adjust", "none");
  element.append(probe);
  const colour = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const palette = {
    lines: Array.from({ length: LINE_COLOURS }, (_, index) => colour(`chart-${index + 1}`)),
    grid: colour("chart-grid"),
    text: colour("ink-3"),
    surface: colour("surface"),
    warn: colour("warn"),
    good: colour("good"),
    accent: colour("accent"),
    ink: colour("ink"),
  };
  probe.remove();
  return palette;
}

/** The colour of a line, also for styles. */
export const lineColour = (number: number): string => `var(--chart-${(number % LINE_COLOURS) + 1})`;

/** The dashes of a line in pixels, empty for a solid one. Lines of one colour differ in their dashes. */
export const dashOf = (number: number): readonly number[] =>
  DASHES[Math.floor(number / LINE_COLOURS) % DASHES.length] ?? [];

const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3], [14, 4]] as const;

/** The number of a line whose colour and dashes both differ from those of the lines around it. */
export const dashedNumber = (index: number): number => index + LINE_COLOURS * (index % DASHES.length);

/** The background of a small sample of a line: its colour, in stripes for a dashed one. */
export function lineSample(number: number): string {
  const [on, off] = dashOf(number);
  const colour = lineColour(number);
  if (on === undefined || off === undefined) return colour;
  return `repeating-linear-gradient(90deg, ${colour} 0 ${on / 2}px, transparent ${on / 2}px ${(on + off) / 2}px)`;
}

/** The same colour, seen through. */
export const faint = (colour: string, alpha: number): string =>
  colour.replace(/^rgb\((.*)\)$/, (_, parts: string) => `rgba(${parts}, ${alpha})`);
