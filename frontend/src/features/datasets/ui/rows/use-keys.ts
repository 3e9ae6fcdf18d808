import { useEffect, useRef } from "react";
import { keyAction, type KeyAction } from "@/features/datasets/model/keys";

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
