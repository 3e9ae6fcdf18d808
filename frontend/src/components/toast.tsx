import { useSyncExternalStore } from "react";
import { Button } from "@/components/button";
import styles from "./notice.module.css";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: "neutral" | "bad";
  /** A step back, offered while the message is shown. */
  readonly undo?: (() => void) | undefined;
}

const SHOWN_MS = 8000;
const MOST = 3;

let toasts: readonly Toast[] = [];
let made = 0;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]): void {
  toasts = next;
  listeners.forEach((listener) => listener());
}

const dismiss = (id: number): void => set(toasts.filter((toast) => toast.id !== id));

/** Reports the outcome of an action for some seconds, on whatever page the user is then. */
export function toast(text: string, options: { tone?: Toast["tone"]; undo?: () => void } = {}): void {
  const id = ++made;
  set([...toasts, { id, text, tone: options.tone ?? "neutral", undo: options.undo }].slice(-MOST));
  // An error stays until it is closed.
  if (options.tone !== "bad") setTimeout(() => dismiss(id), SHOWN_MS);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The messages of `toast`, in a corner of the window. The frame of the pages shows it once. */
export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className={styles.toasts} role="status" aria-live="polite">
      {shown.map(({ id, text, tone, undo }) => (
        <div key={id} className={`${styles.toast} ${tone === "neutral" ? "" : styles[tone]}`}>
          <span>{text}</span>
          {undo && (
            <Button
              onClick={() => {
                dismiss(id);
                undo();
              }}
            >
              Undo
            </Button>
          )}
          <Button look="quiet" aria-label="Close the message" onClick={() => dismiss(id)}>
            ×
          </Button>
        </div>
      ))}
    </div>
  );
}
