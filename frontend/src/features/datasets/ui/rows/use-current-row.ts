import { useEffect, useState } from "react";
import type { Go } from "@/features/datasets/ui/page/use-place";

const PAUSE_MS = 200;

/**
 * The row that the keyboard is at. Keys come faster than addresses change, so it moves at once, and the address follows
 * when the keys rest. `named` is the address's row: where that changes by other means, it counts.
 */
export function useCurrentRow(named: number | null, go: Go): [number | null, (row: number | null) => void] {
  const [state, setState] = useState({ named, written: named, row: named });
  if (state.named !== named) setState({ named, written: named, row: named === state.written ? state.row : named });
  const { row } = state;
  useEffect(() => {
    if (row === named) return;
    const timer = setTimeout(() => {
      setState((before) => ({ ...before, written: row }));
      go({ row });
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [row, named, go]);
  return [row, (to) => setState((before) => ({ ...before, row: to }))];
}
