import type { JobEvent, JobEventType } from "@/lib/api/types";

/** Whether events of a type appear in the log. Metrics, completions and critic cards have tabs of their own. */
const IN_LOG: Record<JobEventType, boolean> = {
  run_started: true,
  stage_started: true,
  metrics: false,
  samples: false,
  critic_card: false,
  reward_missing: true,
  checkpoint_saved: true,
  checkpoint_damaged: true,
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

export const LOG_TYPES: readonly JobEventType[] = Object.keys(IN_LOG)
  .filter(isType)
  .filter((type) => IN_LOG[type]);

/** Whether this page can show the event. A newer server may send others. */
export const isKnown = (event: JobEvent): boolean => isType(event.type);
