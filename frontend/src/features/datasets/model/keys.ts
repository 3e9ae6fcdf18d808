export type KeyAction = "next" | "previous" | "nextPage" | "previousPage" | "diff" | "search" | "open" | "random";

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

/** What a key asks for; null where it belongs to the browser, or to a field that is being typed in. */
export function keyAction(event: Pressed, isTyping: boolean): KeyAction | null {
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return null;
  return ACTIONS[event.key] ?? null;
}
