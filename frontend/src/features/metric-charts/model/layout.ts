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

export const stageOf = (place: string): string => place.replace(COMPARED, "");
const layouts = new Map<string, ViewSetting<Layout>>();

export function settingOf(place: string): ViewSetting<Layout> {
  const setting = layouts.get(place) ?? viewSetting(`charts.${place}`, readLayout);
  layouts.set(place, setting);
  return setting;
}

const withOwnOf = (layout: Layout, { own }: Layout): Layout => (layout.own === own ? layout : { ...layout, own });

export const layoutOf = (place: string): Layout => withOwnOf(settingOf(place).get(), settingOf(stageOf(place)).get());

export function useLayout(place: string): Layout {
  const layout = useViewSetting(settingOf(place));
  const usual = useViewSetting(settingOf(stageOf(place)));
  return useMemo(() => withOwnOf(layout, usual), [layout, usual]);
}
