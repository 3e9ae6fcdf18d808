import { type RefObject, useEffect } from "react";
import type { ChartGroup } from "@/charts/group";

let touchedAt = -Infinity;
/** A browser reports a tap as a click a moment later. */
const TAP_MS = 800;

export const isTap = (): boolean => performance.now() - touchedAt < TAP_MS;

/** Listens to fingers (see gestures.ts). Only a device with a touch screen loads the code. */
export function useTouch(host: RefObject<HTMLDivElement | null>, group: ChartGroup): void {
  useEffect(() => {
    const element = host.current;
    if (!element || navigator.maxTouchPoints === 0) return;
    let stop: (() => void) | null = null;
    let isGone = false;
    const touched = () => {
      touchedAt = performance.now();
    };
    // Without the code, which a newer build may have replaced, the charts still take a mouse and keys.
    const load = import("@/charts/gestures").then(({ onFingers }) => {
      if (!isGone) stop = onFingers(element, group, touched);
    });
    load.catch(() => undefined);
    return () => {
      isGone = true;
      stop?.();
    };
  }, [host, group]);
}
