import type { JobEvent, JobEventType } from "@/lib/api/types";

/** Whether events of a type appear in the log. Metrics and completions have tabs of their own. */
const IN_LOG: Record<JobEventType, boolean> = {
  run_started: true,
  stage_started: true,
  metrics: false,
  samples: false,
  checkpoint_saved: true,
  health: true,
  rolled_back: true,
  command_requested: true,
  knob_changed: true,
  command_done: true,
  command_refused: true,
  curve: true,
  report_card: true,
  seed_finished: true,
  stage_finished: true,
  message: true,
  run_finished: true,
  run_failed: true,
  run_stopped: true,
  status_changed: true,
};

const isType = (name: string): name is JobEventType => name in IN_LOG;

/** All types of events. EventSource delivers only the types that have a listener. */
export const EVENT_TYPES: readonly JobEventType[] = Object.keys(IN_LOG).filter(isType);

export const LOG_TYPES: readonly JobEventType[] = EVENT_TYPES.filter((type) => IN_LOG[type]);

/** The event of an SSE message; null for text that is not an event. The server's schema defines the fields of each type. */
export function parseEvent(text: string): JobEvent | null {
  try {
    const value: unknown = JSON.parse(text);
    return isEvent(value) ? value : null;
  } catch {
    return null;
  }
}

function isEvent(value: unknown): value is JobEvent {
  if (typeof value !== "object" || value === null || !("seq" in value && "type" in value && "data" in value))
    return false;
  return typeof value.seq === "number" && typeof value.type === "string" && isType(value.type);
}
