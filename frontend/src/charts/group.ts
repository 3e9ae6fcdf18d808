import { createContext, useContext } from "react";
import { Cursor } from "@/charts/cursor";

export interface StepRange {
  readonly from: number;
  readonly to: number;
}

/** What the charts on a page share: the crosshair, the zoom and the smoothing. */
export interface ChartGroup {
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
