import { useEffect, useEffectEvent } from "react";
import type { Command, Press } from "@/features/annotation/model/keys";

/** Runs what a key means, except where it is typed into a field, belongs to a dialog, or presses the focused button. */
export function useKeys(meaning: (press: Press) => Command | null, run: (command: Command) => void): void {
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || isElsewhere(event)) return;
    const command = meaning(event);
    if (!command) return;
    event.preventDefault();
    run(command);
  });
  useEffect(() => {
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, []);
}

const FIELDS = "input, textarea, select, [contenteditable]";
const PRESSED_BY_ENTER = "button, a, summary";

function isElsewhere(event: KeyboardEvent): boolean {
  if (document.querySelector("dialog[open]")) return true;
  const target = event.target;
  if (!(target instanceof Element)) return false;
  return target.closest(FIELDS) !== null || (event.key === "Enter" && target.closest(PRESSED_BY_ENTER) !== null);
}
