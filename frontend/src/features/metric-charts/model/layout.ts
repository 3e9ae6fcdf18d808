import { useMemo } from "react";
import { type OwnChart, readOwn } from "@/features/metric-charts/model/own-charts";
import { useViewSetting, type ViewSetting, viewSetting } from "@/lib/view-settings";

/** A user's arrangement of the charts of a stage, by title. */
export interface Layout {
  /** Charts in their order; charts that are not in it follow in the order of the metric table. */
  readonly order: readonly string[];
  readonly pinned: readonly string[];
  readonly hidden: readonly string[];
  /** Charts that the user has made. */
  readonly own: readonly OwnChart[];
}

export const USUAL_LAYOUT: Layout = { order: [], pinned: [], hidden: [], own: [] };

/** The usual order with every chart shown. The user's own charts stay. */
export const reset = ({ own }: Layout): Layout => ({ ...USUAL_LAYOUT, own });

export const isReset = ({ order, pinned, hidden }: Layout): boolean =>
  !order.length && !pinned.length && !hidden.length;

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

export function readLayout(stored: unknown): Layout {
  if (typeof stored !== "object" || stored === null) return USUAL_LAYOUT;
  const list = (name: string): string[] => {
    const value: unknown = Reflect.get(stored, name);
    return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
  };
  const own = readOwn(Reflect.get(stored, "own"));
  return { order: list("order"), pinned: list("pinned"), hidden: list("hidden"), own };
}

/**
 * The arrangement of a stage on the page of a run is named after the stage, and that of the page that compares runs begins
 * with this. There the charts have other titles, but both show the same charts of the user.
 */
export const COMPARED = "compare.";

const stageOf = (place: string): string => place.replace(COMPARED, "");
const layouts = new Map<string, ViewSetting<Layout>>();

function settingOf(place: string): ViewSetting<Layout> {
  const setting = layouts.get(place) ?? viewSetting(`charts.${place}`, readLayout);
  layouts.set(place, setting);
  return setting;
}

const withOwnOf = (layout: Layout, { own }: Layout): Layout => (layout.own === own ? layout : { ...layout, own });

export const layoutOf = (place: string): Layout => withOwnOf(settingOf(place).get(), settingOf(stageOf(place)).get());

export function arrange(place: string, change: (before: Layout) => Layout): void {
  const stage = stageOf(place);
  const before = layoutOf(place);
  const after = change(before);
  if (place !== stage) settingOf(place).change(() => ({ ...after, own: [] }));
  if (place === stage || after.own !== before.own) settingOf(stage).change(change);
}

export function useLayout(place: string): Layout {
  const layout = useViewSetting(settingOf(place));
  const usual = useViewSetting(settingOf(stageOf(place)));
  return useMemo(() => withOwnOf(layout, usual), [layout, usual]);
}
