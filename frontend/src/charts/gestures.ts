import type { ChartGroup } from "@/charts/group";

/** Fingers closer than this in pixels do not change the zoom. */
const LEAST_SPREAD = 24;

interface Gesture {
  /** Factor of the width of the shown part; below 1 it zooms in. */
  readonly zoom: number;
  /** Share of the shown part by which it moves. */
  readonly pan: number;
  /** The place between the fingers, as a share of the width. */
  readonly at: number;
}

/** The change between two positions of the same fingers, in pixels from the left edge of a chart. */
export function gestureOf(before: readonly number[], after: readonly number[], width: number): Gesture {
  const middle = (fingers: readonly number[]) => fingers.reduce((sum, x) => sum + x, 0) / fingers.length;
  const spread = ([a = 0, b = a]: readonly number[]) => Math.abs(b - a);
  const isPinch = spread(before) >= LEAST_SPREAD && spread(after) >= LEAST_SPREAD;
  return {
    zoom: isPinch ? spread(before) / spread(after) : 1,
    pan: (middle(before) - middle(after)) / width,
    at: middle(after) / width,
  };
}

/**
 * Two fingers zoom. One finger moves a zoomed chart sideways; otherwise it moves the crosshair. Up and down scroll the page.
 * Returns a function that ends this.
 */
export function onFingers(element: HTMLElement, group: ChartGroup, onTouch: () => void): () => void {
  let before: readonly number[] = [];
  const fingers = ({ targetTouches }: TouchEvent) => {
    const { left } = areaOf(element).getBoundingClientRect();
    return Array.from(targetTouches, ({ clientX }) => clientX - left).slice(0, 2);
  };
  const start = (event: TouchEvent) => {
    onTouch();
    before = fingers(event);
  };
  const move = (event: TouchEvent) => {
    const after = fingers(event);
    const width = areaOf(element).clientWidth;
    // The browser scrolls the page, and the event comes too late to stop that.
    if (!event.cancelable || after.length !== before.length || !width) return;
    const { zoom, pan, at } = gestureOf(before, after, width);
    const position = group.at(at);
    if (after.length === 2) group.zoom(zoom, position);
    if (group.isZoomed()) group.pan(pan);
    else if (after.length === 1) group.setCursor(position);
    before = after;
    onTouch();
    event.preventDefault();
  };
  element.addEventListener("touchstart", start, { passive: true });
  element.addEventListener("touchmove", move, { passive: false });
  element.addEventListener("touchend", start, { passive: true });
  return () => {
    element.removeEventListener("touchstart", start);
    element.removeEventListener("touchmove", move);
    element.removeEventListener("touchend", start);
  };
}

/** The part of a chart within its axes. */
const areaOf = (host: HTMLElement): HTMLElement => host.querySelector<HTMLElement>(".u-over") ?? host;
