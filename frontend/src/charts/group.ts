import { createContext, type RefObject, useContext, useEffect, useState } from "react";

export interface StepRange {
  readonly from: number;
  readonly to: number;
}

/** State that the charts of a page share: the crosshair, the zoom and the smoothing. */
interface ChartGroup {
  readonly syncKey: string;
  readonly cursor: Cursor;
  readonly zoom: StepRange | null;
  readonly setZoom: (range: StepRange | null) => void;
  readonly smoothing: number;
}

export const ChartGroupContext = createContext<ChartGroup | null>(null);

export function useChartGroup(): ChartGroup {
  const group = useContext(ChartGroupContext);
  if (!group) throw new Error("A chart was placed outside a chart group.");
  return group;
}

/** The step under the pointer, shared by the charts of a group; null when it is over none. */
export class Cursor {
  private step: number | null = null;
  private readonly listeners = new Set<() => void>();

  set = (step: number | null): void => {
    if (step === this.step) return;
    this.step = step;
    this.listeners.forEach((listener) => listener());
  };

  get = (): number | null => this.step;

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
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
