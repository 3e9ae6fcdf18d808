export type Tone = "neutral" | "active" | "good" | "bad" | "warn";

const TONES: Record<string, Tone> = {
  queued: "neutral",
  starting: "active",
  running: "active",
  cancelling: "warn",
  pausing: "warn",
  paused: "warn",
  succeeded: "good",
  failed: "bad",
  cancelled: "neutral",
  // Of a dataset's version.
  importing: "active",
  ready: "good",
  blocked: "bad",
  // Of a round of annotation.
  preparing: "active",
  open: "good",
  closing: "active",
  closed: "neutral",
  // Of a finding.
  blocking: "bad",
  warning: "warn",
  info: "neutral",
};

const TERMINAL = new Set(["succeeded", "failed", "cancelled"]);
const CANCELLABLE = new Set(["queued", "starting", "running", "pausing", "paused"]);

export const statusTone = (status: string): Tone => TONES[status] ?? "neutral";
export const hasEnded = (status: string): boolean => TERMINAL.has(status);
export const canCancel = (status: string): boolean => CANCELLABLE.has(status);
