import { type KeyboardEvent, type RefObject, useEffect } from "react";
import type uPlot from "uplot";
import type { ChartPlot } from "@/charts/chart-plot";
import type { ChartGroup } from "@/charts/group";
import { isTap } from "@/charts/touch";

const LEAST_DRAG = 6;

/** Zooms to what the pointer has selected. */
export function selected(plot: uPlot, group: ChartGroup): void {
  const { left, width } = plot.select;
  if (width === 0) return;
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  if (width < LEAST_DRAG) return;
  group.setView({ from: plot.posToVal(left, "x"), to: plot.posToVal(left + width, "x") });
}

let waiting: ReturnType<typeof setTimeout> | undefined;
/** A second press within this time is a double click. */
const DOUBLE_MS = 300;

/**
 * With Shift, dragging moves the shown part; then it returns true. A press that is released in its place calls `choose` with the
 * position, unless it is a tap or a part of a double click.
 */
export function pressed(
  plot: uPlot,
  event: MouseEvent,
  group: ChartGroup,
  choose: (position: number) => void,
): boolean {
  clearTimeout(waiting);
  const pans = event.shiftKey && group.isZoomed();
  let latest = event.clientX;
  const move = ({ clientX }: MouseEvent) => {
    if (pans) group.pan((latest - clientX) / plot.over.clientWidth);
    latest = clientX;
  };
  const up = (released: MouseEvent) => {
    document.removeEventListener("mousemove", move);
    const position = plot.posToVal(released.clientX - plot.over.getBoundingClientRect().left, "x");
    const isInPlace = !pans && Math.abs(released.clientX - event.clientX) < LEAST_DRAG;
    if (isInPlace && event.detail < 2 && !isTap()) waiting = setTimeout(() => choose(position), DOUBLE_MS);
  };
  document.addEventListener("mousemove", move);
  document.addEventListener("mouseup", up, { once: true });
  return pans;
}

const FAR = 10;
const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -FAR, PageDown: FAR };
const ZOOM = 1.5;
const ZOOMS: Record<string, number> = { "+": 1 / ZOOM, "=": 1 / ZOOM, "-": ZOOM };
const PAN = 0.2;

/** Moves the crosshair or the shown part. False for a key without a meaning here. The list of keys names them (charts.tsx). */
export function pressedKey(
  plot: ChartPlot,
  group: ChartGroup,
  { key, shiftKey, ctrlKey, metaKey, altKey }: KeyboardEvent,
  onEnlarge?: () => void,
): boolean {
  if (ctrlKey || metaKey || altKey) return false;
  const by = STEPS[key];
  const { from, to } = group.getRange();
  if (by && shiftKey) group.pan(Math.sign(by) * PAN);
  else if (by) plot.step(by);
  else if (ZOOMS[key]) group.zoom(ZOOMS[key], group.getCursor() ?? group.at(0.5));
  else if (key === "Enter") plot.choose(group.getCursor());
  else if (key === "Home") group.setCursor(from);
  else if (key === "End") group.setCursor(to);
  else if (key.toLowerCase() === "f" && onEnlarge) onEnlarge();
  else if (key === "Escape" && group.isZoomed()) group.setView(null);
  else return false;
  return true;
}

const WHEEL_ZOOM = 0.002;

/** A horizontal wheel pans, and one with Ctrl zooms. Every other scrolls the page. */
export function useWheel(host: RefObject<HTMLDivElement | null>, group: ChartGroup): void {
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const turn = (event: WheelEvent) => {
      const across = event.shiftKey ? event.deltaX || event.deltaY : event.deltaX;
      if (event.ctrlKey || event.metaKey)
        group.zoom(Math.exp(event.deltaY * WHEEL_ZOOM), group.getCursor() ?? group.at(0.5));
      else if (group.isZoomed() && Math.abs(across) > (event.shiftKey ? 0 : Math.abs(event.deltaY)))
        group.pan(across / element.clientWidth);
      else return;
      event.preventDefault();
    };
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
  }, [host, group]);
}
