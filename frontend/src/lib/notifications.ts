import { useSyncExternalStore } from "react";
import { readText, writeText } from "@/lib/stored";

const KEY = "proximal-notifications";
const listeners = new Set<() => void>();

/** `off`: not wanted. `on`: wanted and allowed. `blocked`: the browser refuses. `missing`: the browser has none here. */
type Notifications = "off" | "on" | "blocked" | "missing";

function read(): Notifications {
  // Browsers offer notifications on https and localhost only.
  if (typeof Notification === "undefined" || !window.isSecureContext) return "missing";
  if (Notification.permission === "denied") return "blocked";
  return Notification.permission === "granted" && readText(KEY) === "on" ? "on" : "off";
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useNotifications = (): Notifications => useSyncExternalStore(subscribe, read);

/** Asks the browser for its permission where that is needed. */
export async function switchNotifications(on: boolean): Promise<void> {
  if (on && Notification.permission === "default") await Notification.requestPermission();
  writeText(KEY, on ? "on" : "off");
  listeners.forEach((listener) => listener());
}
