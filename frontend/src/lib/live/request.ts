import type { OpenStream } from "@/lib/live/hub";

export const openStream: OpenStream = (jobs, signal) =>
  fetch(`/v1/stream?jobs=${jobs}`, { signal, headers: { Accept: "text/event-stream" }, cache: "no-store" });
