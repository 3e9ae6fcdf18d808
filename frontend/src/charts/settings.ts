import { useCallback, useEffect, useRef, useState } from "react";
import { AXIS_NAMES, type AxisKind, metricOf, type Range } from "@/charts/axis";
import type { ChartSettings } from "@/charts/group";
import type { ScaleKind } from "@/charts/y-scale";
import { useAddress } from "@/lib/address";
import { readNumber, writeNumber } from "@/lib/stored";

/** Settings with the part of the axis that is shown; null for all of it. */
export interface ChartView extends ChartSettings {
  readonly view: Range | null;
}

const SCALES: readonly ScaleKind[] = ["linear", "log", "symlog"];
export const MOST_SMOOTHING = 0.99;

/** The view that an address describes. `smoothing` counts where the address has none. */
export function readView(params: URLSearchParams, smoothing: number): ChartView {
  const weight = Number.parseFloat(params.get("smooth") ?? "");
  const wanted = Number.isFinite(weight) ? weight : smoothing;
  return {
    axis: readAxis(params.get("x") ?? ""),
    scale: SCALES.find((scale) => scale === params.get("y")) ?? "linear",
    average: params.get("average") === "running" ? "running" : "exponential",
    smoothing: Math.min(MOST_SMOOTHING, Math.max(0, wanted)),
    clip: params.get("clip") === "1",
    view: readRange(params.get("view")),
  };
}

const readAxis = (text: string): AxisKind =>
  Object.hasOwn(AXIS_NAMES, text) || metricOf(text as AxisKind) ? (text as AxisKind) : "step";

function readRange(text: string | null): Range | null {
  const [from = NaN, to = NaN] = (text ?? "").split("..").map(Number.parseFloat);
  return from < to ? { from, to } : null;
}

/** The address with the view in it. Usual settings are left out. */
export function writeView(
  before: URLSearchParams,
  { axis, scale, smoothing, average, clip, view }: ChartView,
): URLSearchParams {
  const after = new URLSearchParams(before);
  const set = (name: string, value: string | null) => {
    if (value === null) after.delete(name);
    else after.set(name, value);
  };
  set("x", axis === "step" ? null : axis);
  set("y", scale === "linear" ? null : scale);
  set("smooth", smoothing ? String(smoothing) : null);
  set("average", average === "running" ? average : null);
  set("clip", clip ? "1" : null);
  set("view", view && `${rounded(view.from)}..${rounded(view.to)}`);
  return after;
}

/** Seconds of the epoch keep a tenth, and small values of a metric their first digits. */
const rounded = (value: number): string => String(Number(value.toPrecision(Math.abs(value) < 1e4 ? 6 : 11)));

const SMOOTHING = "proximal-smoothing";
const WRITE_MS = 300;

/** How the charts of a page are drawn: from its address, the smoothing also from the last visit. Changes go into the address. */
export function useChartView(): [ChartView, (change: Partial<ChartView>) => void] {
  const [params, setParams] = useAddress();
  const [view, setView] = useState(() => readView(params, readNumber(SMOOTHING, 0)));
  const first = useRef(view);
  useEffect(() => {
    if (view === first.current) return;
    const timer = setTimeout(() => {
      setParams((before) => writeView(before, view));
      writeNumber(SMOOTHING, view.smoothing);
    }, WRITE_MS);
    return () => clearTimeout(timer);
  }, [view, setParams]);
  // Positions on one axis mean nothing on another.
  const change = useCallback(
    (to: Partial<ChartView>) =>
      setView((before) => ({ ...before, ...(to.axis && to.axis !== before.axis && { view: null }), ...to })),
    [],
  );
  return [view, change];
}
