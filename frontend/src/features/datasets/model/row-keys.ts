import { useEffect, useRef, useState } from "react";
import type { Go } from "@/features/datasets/model/place";

type KeyAction = "next" | "previous" | "nextPage" | "previousPage" | "diff" | "search" | "open" | "random";

const ACTIONS: Readonly<Record<string, KeyAction>> = {
  j: "next",
  k: "previous",
  n: "nextPage",
  p: "previousPage",
  d: "diff",
  "/": "search",
  o: "open",
  r: "random",
};

interface Pressed {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

/** The action of a key; null where the browser or a text field handles it. */
export function keyAction(event: Pressed, isTyping: boolean): KeyAction | null {
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return null;
  return ACTIONS[event.key] ?? null;
}

const FIELDS = "input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable]";

/** Listens to the keyboard while the rows are shown, but for fields and open dialogs. */
export function useKeys(handlers: Readonly<Record<KeyAction, () => void>>): void {
  const latest = useRef(handlers);
  useEffect(() => {
    latest.current = handlers;
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const target = event.target instanceof Element ? event.target : null;
      const isTyping = Boolean(target?.matches(FIELDS)) || document.querySelector("dialog[open]") !== null;
      const action = keyAction(event, isTyping);
      if (!action) return;
      event.preventDefault();
      latest.current[action]();
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, []);
}

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
