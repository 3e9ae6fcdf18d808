import type { Layout } from "@/features/metric-charts/model/layout";
import type { OwnChart } from "@/features/metric-charts/model/own-charts";

/** Adds a chart before the ordered ones, or puts it in the place of `before`. */
export function withOwn(layout: Layout, chart: OwnChart, before: OwnChart | null): Layout {
  const at = before ? layout.own.findIndex(({ title }) => title === before.title) : -1;
  if (!before || at < 0) {
    const order = layout.order.length ? [chart.title, ...layout.order] : [];
    return { ...layout, order, own: [chart, ...layout.own] };
  }
  const renamed = (titles: readonly string[]) => titles.map((one) => (one === before.title ? chart.title : one));
  const { order, pinned, hidden, own } = layout;
  return {
    order: renamed(order),
    pinned: renamed(pinned),
    hidden: renamed(hidden),
    own: own.with(at, chart),
  };
}

export function withoutOwn(layout: Layout, chart: OwnChart): Layout {
  const without = (titles: readonly string[]) => titles.filter((one) => one !== chart.title);
  const { order, pinned, hidden, own } = layout;
  return {
    order: without(order),
    pinned: without(pinned),
    hidden: without(hidden),
    own: own.filter(({ title }) => title !== chart.title),
  };
}

/** Undoes `withoutOwn`: the chart is again where it was in the layout `before`. Later changes stay. */
export function withRestored(layout: Layout, before: Layout, chart: OwnChart): Layout {
  if (layout.own.some(({ title }) => title === chart.title)) return layout;
  const back = <Item>(now: readonly Item[], was: readonly Item[], item: Item): readonly Item[] =>
    was.includes(item) ? now.toSpliced(was.indexOf(item), 0, item) : now;
  return {
    order: back(layout.order, before.order, chart.title),
    pinned: back(layout.pinned, before.pinned, chart.title),
    hidden: back(layout.hidden, before.hidden, chart.title),
    own: back(layout.own, before.own, chart),
  };
}
