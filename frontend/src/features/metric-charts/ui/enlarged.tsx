import { useEffect, useEffectEvent, useSyncExternalStore } from "react";
import { tinykeys } from "tinykeys";
import { Button } from "@/components/button";
import type { ChartSpec } from "@/features/metric-charts/model/chart-specs";
import type { DrawLarge } from "@/features/metric-charts/ui/full-screen";
import { hasSingleKeys } from "@/lib/shortcuts";
import styles from "./charts.module.css";

interface EnlargedProps {
  spec: ChartSpec;
  at: number;
  count: number;
  onGo: (to: number) => void;
  drawLarge: DrawLarge;
}

/** Pixels of the window that the frame of the dialog, its buttons and the title of the chart take. */
const FRAME = 240;

/** A chart in full screen. It stays the same component from chart to chart, so that the focus stays where it is. */
export function Enlarged({ spec, at, count, onGo, drawLarge }: EnlargedProps) {
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
