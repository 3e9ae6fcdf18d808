/** The names under which the stream sends its events. EventSource hears only those it was told of. */
export const EVENT_TYPES = [
  "run_started",
  "stage_started",
  "metrics",
  "samples",
  "checkpoint_saved",
  "health",
  "rolled_back",
  "curve",
  "report_card",
  "seed_finished",
  "stage_finished",
  "message",
  "run_finished",
  "run_failed",
  "run_stopped",
  "status_changed",
] as const;

/** Those of the log: all but the numbers and the completions, which have pages of their own. */
export const LOG_TYPES = EVENT_TYPES.filter((type) => type !== "metrics" && type !== "samples");
