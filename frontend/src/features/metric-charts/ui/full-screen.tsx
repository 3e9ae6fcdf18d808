import { type ReactNode, useEffect, useEffectEvent, useSyncExternalStore } from "react";
import { tinykeys } from "tinykeys";
import { FOCUSED } from "@/charts/charts";
import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import type { ChartSpec } from "@/features/metric-charts/model/chart-specs";
import { hasSingleKeys, useListedKeys } from "@/lib/shortcuts";
import styles from "./charts.module.css";

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
      {spec && <Enlarged spec={spec} at={at} count={charts.length} onGo={go} drawLarge={drawLarge} />}
    </Dialog>
  );
}

interface EnlargedProps {
  spec: ChartSpec;
  at: number;
  count: number;
  onGo: (to: number) => void;
  drawLarge: DrawLarge;
}

/** Pixels of the window that the frame of the dialog, its buttons and the title of the chart take. */
const FRAME = 240;

/** It stays the same component from chart to chart, so that the focus stays where it is. */
function Enlarged({ spec, at, count, onGo, drawLarge }: EnlargedProps) {
  const height = useSyncExternalStore(onResize, () => window.innerHeight);
  const [isFirst, isLast] = [at === 0, at === count - 1];
  const go = (by: number) => onGo(Math.min(count - 1, Math.max(0, at + by)));
  useNeighbourKeys(go);
  return (
    <>
      <div className={styles.walk}>
        <Button busy={isFirst} onClick={() => go(-1)} aria-keyshortcuts="ArrowLeft">
          ← Previous
        </Button>
        <Button busy={isLast} onClick={() => go(1)} aria-keyshortcuts="ArrowRight">
          Next →
        </Button>
        <output aria-live="polite">
          <span className="visually-hidden">{spec.title}, </span>
          {at + 1} of {count}
        </output>
      </div>
      {drawLarge(spec, Math.max(160, height - FRAME))}
    </>
  );
}

/** In a chart that has the focus, the arrow and page keys move the crosshair, so the brackets lead to the neighbours. */
function useNeighbourKeys(go: (by: number) => void): void {
  const press = useEffectEvent((event: KeyboardEvent, by: number) => {
    if (event.defaultPrevented || (event.code.startsWith("Bracket") && !hasSingleKeys())) return;
    event.preventDefault();
    go(by);
  });
  useEffect(() => {
    const back = (event: KeyboardEvent) => press(event, -1);
    const on = (event: KeyboardEvent) => press(event, 1);
    return tinykeys(window, {
      ...{ ArrowLeft: back, PageUp: back, BracketLeft: back },
      ...{ ArrowRight: on, PageDown: on, BracketRight: on },
    });
  }, []);
}

function onResize(listener: () => void): () => void {
  window.addEventListener("resize", listener);
  return () => window.removeEventListener("resize", listener);
}
