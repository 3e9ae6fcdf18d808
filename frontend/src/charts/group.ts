import { createContext, type RefObject, useContext, useEffect, useState } from "react";
import type { AxisKind, Range } from "@/charts/axis";
import type { PlacedMark } from "@/charts/marks";
import type { Average } from "@/charts/smooth";
import type { ScaleKind } from "@/charts/y-scale";

/**
 * State that the charts of a page share, and that changes faster than React renders. It holds the crosshair, the part of
 * the axis that is shown, and the queue of charts to draw.
 */
export class ChartGroup {
  private position: number | null = null;
  private isPointed = false;
  private view: Range | null = null;
  private span: Range = { from: 0, to: 1 };
  private isLog = false;
  private readonly cursorListeners = new Set<() => void>();
  private readonly rangeListeners = new Set<() => void>();
  private readonly settledListeners = new Set<(view: Range | null) => void>();
  private readonly queue = new DrawQueue();
  private settled: ReturnType<typeof setTimeout> | null = null;

  /** The position under the pointer; null when it is over no chart. */
  getCursor = (): number | null => this.position;

  /** Moves the crosshair. One under the pointer stays there when the shown part changes, any other at its position. */
  setCursor = (position: number | null, isPointed = false): void => {
    this.isPointed = isPointed;
    if (position === this.position) return;
    this.position = position;
    this.cursorListeners.forEach((listener) => listener());
  };

  onCursor = (listener: () => void): (() => void) => subscribe(this.cursorListeners, listener);

  followsPointer = (): boolean => this.isPointed;

  getRange = (): Range => this.view ?? this.span;

  isZoomed = (): boolean => this.view !== null;

  /** Width of the whole axis. */
  get extent(): number {
    return this.span.to - this.span.from;
  }

  onRange = (listener: () => void): (() => void) => subscribe(this.rangeListeners, listener);

  /** Calls the listener when the shown part has not changed for a moment; null stands for the whole axis. */
  onSettled = (listener: (view: Range | null) => void): (() => void) => subscribe(this.settledListeners, listener);

  /** Sets the extent of all the data. On a logarithmic axis it begins above 0. */
  setSpan(span: Range, isLog = false): void {
    this.isLog = isLog;
    if (span.from === this.span.from && span.to === this.span.to) return;
    this.span = span;
    if (!this.view) this.rangeListeners.forEach((listener) => listener());
  }

  /** Shows a part of the axis, or all of it. */
  setView = (view: Range | null): void => {
    const next = view && this.within(view);
    if (next?.from === this.view?.from && next?.to === this.view?.to) return;
    this.view = next;
    this.rangeListeners.forEach((listener) => listener());
    if (this.settled) clearTimeout(this.settled);
    this.settled = setTimeout(() => this.settledListeners.forEach((listener) => listener(this.view)), SETTLE_MS);
  };

  /** The position at a share of the shown width. */
  at(share: number): number {
    const { from, to } = this.onPaper(this.getRange());
    return this.back(from + share * (to - from));
  }

  /** Moves the shown part by a share of its width. */
  pan(share: number): void {
    if (!this.view) return;
    const { from, to } = this.onPaper(this.view);
    const span = this.onPaper(this.span);
    const by = Math.min(span.to - to, Math.max(span.from - from, share * (to - from)));
    this.setView({ from: this.back(from + by), to: this.back(to + by) });
  }

  /** Makes the shown part `factor` times as wide, around a position. */
  zoom(factor: number, position: number): void {
    const { from, to } = this.onPaper(this.getRange());
    const at = this.isLog ? Math.log(position) : position;
    this.setView({ from: this.back(at - (at - from) * factor), to: this.back(at + (to - at) * factor) });
  }

  /** Where the ends of a range are drawn, in units that have the same width everywhere. */
  private onPaper({ from, to }: Range): Range {
    return this.isLog ? { from: Math.log(from), to: Math.log(to) } : { from, to };
  }

  private back(place: number): number {
    return this.isLog ? Math.exp(place) : place;
  }

  /** Calls `draw` in one of the next frames, once, however often it was asked for. */
  schedule = (draw: () => void): void => this.queue.add(draw);

  forget = (draw: () => void): void => this.queue.remove(draw);

  private within({ from, to }: Range): Range | null {
    const low = Math.max(from, this.span.from);
    const high = Math.min(to, this.span.to);
    return high <= low || (low === this.span.from && high === this.span.to) ? null : { from: low, to: high };
  }
}

const SETTLE_MS = 200;

function subscribe<Listener>(listeners: Set<Listener>, listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Time in a frame that may go into drawing. The charts that do not fit are drawn in the next frames. */
const BUDGET_MS = 4;

/** Draws charts one after another, a few in each frame, so that no frame takes long however many charts there are. */
class DrawQueue {
  private readonly waiting = new Set<() => void>();
  private frame: number | null = null;

  add(draw: () => void): void {
    this.waiting.add(draw);
    this.frame ??= requestAnimationFrame(this.run);
  }

  remove(draw: () => void): void {
    this.waiting.delete(draw);
  }

  private readonly run = (): void => {
    this.frame = null;
    const end = performance.now() + BUDGET_MS;
    for (const draw of this.waiting) {
      this.waiting.delete(draw);
      draw();
      if (performance.now() > end) break;
    }
    if (this.waiting.size) this.frame = requestAnimationFrame(this.run);
  };
}

/** Whether the element is on the screen, or nearly. */
export function useVisible(ref: RefObject<HTMLElement | null>): boolean {
  const [visible, setVisible] = useState(false);
  useEffect(() => {
    if (!ref.current) return;
    const observer = new IntersectionObserver((entries) => setVisible(entries.at(-1)?.isIntersecting ?? false), {
      rootMargin: "200px",
    });
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, [ref]);
  return visible;
}

/** How the charts of a page are drawn. */
export interface ChartSettings {
  readonly axis: AxisKind;
  /** Weight of the moving average, 0 for none. */
  readonly smoothing: number;
  readonly average: Average;
  readonly scale: ScaleKind;
  /** Whether outliers are left outside the vertical axis. */
  readonly clip: boolean;
}

export interface ChartsShared {
  readonly group: ChartGroup;
  readonly settings: ChartSettings;
  /** Name of the metric that the axis shows; empty on a common axis. */
  readonly axisName: string;
  readonly marks: readonly PlacedMark[];
  /** Called with the position of a point that is clicked, or chosen with Enter. */
  readonly onPoint?: ((position: number) => void) | undefined;
  /** The effect of `onPoint`, for people; empty without it. */
  readonly pointHint: string;
}

export const ChartGroupContext = createContext<ChartsShared | null>(null);

export function useCharts(): ChartsShared {
  const shared = useContext(ChartGroupContext);
  if (!shared) throw new Error("A chart was placed outside a chart group.");
  return shared;
}
