/** Changes of an arrangement. Their code is loaded with the first change. */
import { type Layout, layoutOf, settingOf, stageOf, USUAL_LAYOUT } from "@/features/metric-charts/model/layout";

export function arrange(place: string, change: (before: Layout) => Layout): void {
  const stage = stageOf(place);
  const before = layoutOf(place);
  const after = change(before);
  if (place !== stage) settingOf(place).change(() => ({ ...after, own: [] }));
  if (place === stage || after.own !== before.own) settingOf(stage).change(change);
}

/** The usual order with every chart shown. The user's own charts stay. */
export const reset = ({ own }: Layout): Layout => ({ ...USUAL_LAYOUT, own });

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
