import type { JobEvent } from "@/lib/api/types";

/** State of the browser's connection to the event stream. `since`: when it was lost or opened, in ms of the epoch. */
export interface Link {
  readonly state: "idle" | "connecting" | "live" | "reconnecting" | "offline" | "signed-out";
  readonly since: number;
}

/** From a page to the hub. `id` is a number that the page chose for one subscription. */
export type ToHub =
  | { readonly type: "follow"; readonly id: number; readonly jobId: string; readonly after: number }
  | { readonly type: "watch"; readonly id: number; readonly jobIds: readonly string[] }
  | { readonly type: "drop"; readonly id: number }
  | { readonly type: "ping" }
  | { readonly type: "wake" }
  | { readonly type: "rest" }
  | { readonly type: "bye" };

/** From the hub to a page. */
export type ToPage =
  | { readonly type: "events"; readonly id: number; readonly events: readonly JobEvent[] }
  /** The job has ended, or was deleted, and no event follows. */
  | { readonly type: "done"; readonly id: number }
  /** Something happened in watched jobs; `types` are those of the events. Empty after a reconnection. */
  | { readonly type: "news"; readonly id: number; readonly types: readonly string[] }
  | { readonly type: "link"; readonly link: Link }
  /** `subs`: the number of subscriptions of this page that the hub holds. */
  | { readonly type: "pong"; readonly subs: number };
