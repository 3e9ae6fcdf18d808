/**
 * Charts of a page. They share the crosshair, the part of the axis that is shown, the smoothing and the scale.
 *
 * `useChartView()` returns the settings, which are kept in the address of the page, and a function that changes them.
 * `Charts` makes one group. `span` is the extent of all the data, in units of the axis (see extent.ts).
 * `marks` are vertical lines (see marks.ts), unless they are switched off (see look.ts). `onPoint` is called with the position of a point that is
 * clicked, or chosen with Enter. `pointHint` describes this.
 * `ChartToolbar` has the controls of a group. `axes` names the axes that the data offers (see axis.ts).
 * `ChartColumns` places charts side by side.
 * `Chart` is one chart with its title and legend. `lines` are objects with `key`, `label` and `series` (see `ChartLine`).
 *
 * A `Series` (see series.ts) has ascending `steps` with `values`, and `min` and `max` for a band. Its steps are positions
 * on the axis, unless the `along` of the line maps them (see positions.ts). Pass the same `series` object while its points are the same: a new object draws the chart again.
 *
 * A chart is drawn when it is on the screen. `onVisible` reports this to the parent, which may fetch its data then. A drag
 * zooms. A drag with Shift and a horizontal wheel pan. A wheel with Ctrl zooms. A double click and Escape show the whole axis.
 * The arrow keys move the crosshair. Two fingers zoom, and one moves the shown part.
 */
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { metricOf, type Range } from "@/charts/axis";
import { ChartGroup, ChartGroupContext } from "@/charts/group";
import { useLook } from "@/charts/look";
import type { PlacedMark } from "@/charts/marks";
import type { ChartView } from "@/charts/settings";
import { type KeyGroup, useListedKeys } from "@/lib/shortcuts";

interface ChartsProps {
  view: ChartView;
  onView: (change: { view: Range | null }) => void;
  /** Extent of all the data, in units of the axis; null without data, or until all of it is there. */
  span: Range | null;
  /** Name of the metric that the axis shows, where it shows one. */
  axisName?: string | undefined;
  marks?: readonly PlacedMark[];
  /** Called with the position of a point that is clicked, or chosen with Enter. Pass the same function each time. */
  onPoint?: ((position: number) => void) | undefined;
  /** The effect of `onPoint`, such as "show the completions of the step". */
  pointHint?: string;
  children: ReactNode;
}

const NO_MARKS: readonly PlacedMark[] = [];

export function Charts({ view, onView, span, axisName, marks = NO_MARKS, ...props }: ChartsProps) {
  const { onPoint, pointHint = "", children } = props;
  const [group] = useState(() => new ChartGroup());
  const { axis, smoothing, average, scale, clip } = view;
  const isLog = axis === "log-step";
  // 0 has no logarithm.
  const [from, to] = isLog
    ? [Math.max(1, span?.from ?? 1), Math.max(1, span?.to ?? 1)]
    : [span?.from ?? 0, span?.to ?? 1];
  const isKnown = span !== null;
  useEffect(() => {
    if (isKnown) group.setSpan({ from, to }, isLog);
  }, [group, isKnown, from, to, isLog]);
  useEffect(() => {
    return group.onSettled((shown) => onView({ view: shown }));
  }, [group, onView]);
  const { from: shownFrom, to: shownTo } = view.view ?? {};
  useEffect(() => {
    if (!isKnown) return; // a part is cut to the extent, which must be that of the data
    group.setView(shownFrom === undefined || shownTo === undefined ? null : { from: shownFrom, to: shownTo });
  }, [group, isKnown, shownFrom, shownTo]);
  const shown = useLook().marks ? marks : NO_MARKS;
  const name = axisName ?? metricOf(axis) ?? "";
  useListedKeys(useMemo(() => keysOf(pointHint), [pointHint]));
  const shared = useMemo(
    () => ({
      group,
      settings: { axis, smoothing, average, scale, clip },
      axisName: name,
      marks: shown,
      onPoint,
      pointHint,
    }),
    [group, axis, smoothing, average, scale, clip, name, shown, onPoint, pointHint],
  );
  return <ChartGroupContext value={shared}>{children}</ChartGroupContext>;
}

export const FOCUSED = "On a chart that has the focus";

/** The keys of `pressedKey` (pointer.ts), and what the pointer does. */
const keysOf = (pointHint: string): KeyGroup => ({
  heading: FOCUSED,
  rows: [
    ["← →", "Move the crosshair by a point"],
    ["Page Up, Page Down", "Move the crosshair by ten points"],
    ["Home, End", "Move the crosshair to the first or the last shown point"],
    ...(pointHint ? [["Enter", pointHint.replace(/^./, (first) => first.toUpperCase())] as const] : []),
    ["+ −", "Zoom in and out, around the crosshair"],
    ["Shift ← →", "Move the shown part"],
    ["Escape", "Show the whole axis"],
    ["Drag", "Zoom to a part; with Shift, move the shown part"],
    ["Ctrl wheel", "Zoom in and out"],
    ["Double click", "Show the whole axis"],
  ],
});
