import { type ReactNode, Suspense } from "react";
import { FOCUSED } from "@/charts/charts";
import { Dialog } from "@/components/dialog";
import { loadable } from "@/components/loadable";
import type { ChartSpec } from "@/features/metric-charts/model/chart-specs";
import { useListedKeys } from "@/lib/shortcuts";

const Enlarged = loadable(async () => (await import("@/features/metric-charts/ui/enlarged")).Enlarged);

/** Draws a chart of this height in pixels. */
export type DrawLarge = (spec: ChartSpec, height: number) => ReactNode;

interface FullScreenProps {
  /** The charts of the section, in their order. */
  charts: readonly ChartSpec[];
  /** The title of the chart that is shown; null for none. */
  title: string | null;
  onTitle: (title: string | null) => void;
  drawLarge: DrawLarge;
}

const FULL = {
  heading: "In full screen",
  rows: [
    ["← →", "Show the chart before or after"],
    ["[ ]", "The same, also while the chart has the focus: the two keys beside P"],
  ],
} as const;
const ENLARGE = { heading: FOCUSED, rows: [["F", "Full screen"]] } as const;

/** One chart of a section in a dialog that fills the window. Keys and buttons lead to its neighbours. */
export function FullScreen({ charts, title, onTitle, drawLarge }: FullScreenProps) {
  useListedKeys(ENLARGE);
  useListedKeys(FULL);
  const at = charts.findIndex((chart) => chart.title === title);
  const spec = charts[at];
  const go = (to: number) => onTitle(charts[to]?.title ?? title);
  return (
    <Dialog open={spec !== undefined} title={spec?.title ?? ""} full onClose={() => onTitle(null)}>
      <Suspense fallback={null}>
        {spec && <Enlarged spec={spec} at={at} count={charts.length} onGo={go} drawLarge={drawLarge} />}
      </Suspense>
    </Dialog>
  );
}
