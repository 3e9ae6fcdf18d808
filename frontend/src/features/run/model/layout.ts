import { readText, writeText } from "@/lib/stored";

/** A user's arrangement of the charts of a stage, by title. It is kept in this browser. */
export interface Layout {
  /** Charts in their order; charts that are not in it follow in the order of the metric table. */
  readonly order: readonly string[];
  readonly pinned: readonly string[];
  readonly hidden: readonly string[];
}

export const USUAL_LAYOUT: Layout = { order: [], pinned: [], hidden: [] };

interface Titled {
  readonly title: string;
}

/** The charts to show, the pinned ones first. */
export function arranged<Chart extends Titled>(charts: readonly Chart[], layout: Layout): Chart[] {
  const place = ({ title }: Titled) => {
    const at = layout.order.indexOf(title);
    return (layout.pinned.includes(title) ? 0 : 1e6) + (at < 0 ? layout.order.length : at);
  };
  return charts.filter(({ title }) => !layout.hidden.includes(title)).toSorted((a, b) => place(a) - place(b));
}

/** Moves a chart to the place of another. `shown` are the titles as they are arranged now. */
export function moved(layout: Layout, shown: readonly string[], title: string, to: string): Layout {
  const at = shown.indexOf(to);
  if (at < 0 || title === to) return layout;
  const order = shown.filter((one) => one !== title);
  order.splice(at, 0, title);
  // A pinned chart stays before the others, so a move across the border changes the pin.
  const pins = layout.pinned.includes(to) !== layout.pinned.includes(title);
  return { ...layout, order, ...(pins && { pinned: toggled(layout.pinned, title) }) };
}

export const pinnedOrNot = (layout: Layout, title: string): Layout => ({
  ...layout,
  pinned: toggled(layout.pinned, title),
});

export const hiddenOrNot = (layout: Layout, title: string): Layout => ({
  ...layout,
  hidden: toggled(layout.hidden, title),
});

const toggled = (titles: readonly string[], title: string): string[] =>
  titles.includes(title) ? titles.filter((one) => one !== title) : [...titles, title];

const key = (stage: string): string => `proximal-charts-${stage}`;

export function readLayout(stage: string): Layout {
  try {
    const stored: unknown = JSON.parse(readText(key(stage)) ?? "");
    if (typeof stored !== "object" || stored === null) return USUAL_LAYOUT;
    const list = (name: string): string[] => {
      const value: unknown = Reflect.get(stored, name);
      return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
    };
    return { order: list("order"), pinned: list("pinned"), hidden: list("hidden") };
  } catch {
    return USUAL_LAYOUT; // nothing stored, or text of another version
  }
}

export const writeLayout = (stage: string, layout: Layout): void => writeText(key(stage), JSON.stringify(layout));
