import { metricsOf } from "@/features/run/model/findings";
import { KNOBS } from "@/lib/api/knobs.gen";
import type { EventOf, JobEvent } from "@/lib/api/types";
import { count, duration, number, NO_VALUE } from "@/lib/format";
import { commandLabel, findingTitle, type LabelOf, missingCause, withLabels } from "@/lib/labels";
import { stageShort } from "@/lib/states";

type Figures = Readonly<Record<string, number>>;
type Level = "info" | "warning" | "error";

const asNamed: LabelOf = (_stage, name, otherwise = name) => otherwise;

/** An event as a sentence, for the log. */
export const describe = (event: JobEvent, labelOf: LabelOf = asNamed): string =>
  seed(event) + withLabels(sentence(event, labelOf), event.stage, labelOf);

function sentence(event: JobEvent, labelOf: LabelOf): string {
  const stage = stageShort(event.stage ?? "");
  const step = event.step ?? NO_VALUE;
  switch (event.type) {
    case "status_changed":
      return changed(event.data);
    case "run_started":
      return started(event.data);
    case "stage_started":
      return begun(stage, event.data);
    case "checkpoint_saved":
      return `${stage} step ${step} saved${saved(event.data)}`;
    case "checkpoint_damaged":
      return damaged(stage, event.data);
    case "reward_missing":
      return missing(`${stage} step ${step}`, event.data);
    case "health":
      return `${findingTitle(event.data)} at step ${step}: ${event.data.cause} ${event.data.suggestion}`;
    case "rolled_back":
      return `${stage} continues from the weights of step ${event.data.to_step}, learning rates × ${number(event.data.learning_rate_factor)}`;
    case "command_requested":
      return `${event.data.actor.name ?? "A key"} requested: ${commandLabel(event.data.name)}${typeof event.data.value === "number" ? ` = ${number(event.data.value)}` : ""}`;
    case "knob_changed":
      return `${KNOBS[event.data.name].label} ${number(event.data.from)} → ${number(event.data.to)} after ${stage} step ${step}`;
    case "command_done":
      return `${event.data.name === "evaluate" ? "Evaluation" : "Checkpoint"} as requested, after ${stage} step ${step}`;
    case "command_refused":
      return `${commandLabel(event.data.name)} was refused after ${stage} step ${step}: ${event.data.reason}`;
    case "curve":
      return `Over-optimisation curve of ${count(event.data.points.length, "evaluation")}`;
    case "report_card":
      return `${stage}: report card on the held-out rows`;
    case "seed_finished":
      return `Seed ${event.data.seed} (${event.data.number} of ${event.data.of}) ${ended(event.data, labelOf)}`;
    case "stage_finished":
      return `${stage} done in ${duration(event.data.seconds)}${figures(event.data.summary, event.stage, labelOf)}`;
    case "message":
      return event.data.text;
    case "run_finished":
      return `The run is complete. ${event.attempt > 1 ? `Attempt ${event.attempt}` : "It"} took ${duration(event.data.seconds)}`;
    case "run_failed":
      return `${event.data.code}: ${event.data.message}`;
    case "run_stopped":
      return stopped(event, `${stage} step ${step}`);
    default:
      return JSON.stringify(event.data);
  }
}

function changed({ from, to, reason }: EventOf<"status_changed">["data"]): string {
  return `${from ? `${from} → ` : ""}${to}${reason ? `: ${reason}` : ""}`;
}

function started({ device, resumed_stage: stage, resumed_step: step }: EventOf<"run_started">["data"]): string {
  const where = device ? ` on ${device}` : "";
  const from = stage ? `, resuming ${stageShort(stage)} after step ${step ?? 0}` : "";
  return `The trainer is ready${where}${from}`;
}

function begun(stage: string, data: EventOf<"stage_started">["data"]): string {
  const from = data.start_step ? ` again after step ${data.start_step}` : "";
  return `${stage} begins${from}, ${count(data.total_steps, "step")}`;
}

const seed = (event: JobEvent): string =>
  event.seed === null || event.type === "seed_finished" ? "" : `Seed ${event.seed}: `;

function saved(data: EventOf<"checkpoint_saved">["data"]): string {
  return data.final ? ", the stage's result" : data.best ? ", the best so far" : "";
}

function damaged(stage: string, data: EventOf<"checkpoint_damaged">["data"]): string {
  const which = data.final ? "result" : data.best ? "best checkpoint" : `checkpoint of step ${data.step ?? NO_VALUE}`;
  return `${stage}: the ${which} is damaged. ${data.reason}. ${data.remedy}`;
}

function missing(place: string, data: EventOf<"reward_missing">["data"]): string {
  const causes = Object.entries(data.missing).map(([cause, many]) => `${many} ${missingCause(cause)}`);
  const many = Object.values(data.missing).reduce((sum, of) => sum + of, 0);
  const which = data.held_out ? "held-out responses" : "responses";
  return `${place}: ${data.reward} has no value for ${many} of ${data.asked} ${which}, left out (${causes.join(", ")}). Reason: ${data.reason}`;
}

function ended({ collapsed, why, summary }: EventOf<"seed_finished">["data"], labelOf: LabelOf): string {
  return collapsed ? `collapsed${why ? `: ${why}` : ""}` : `done${figures(summary, "evaluation", labelOf)}`;
}

function stopped({ data }: EventOf<"run_stopped">, place: string): string {
  if (data.reason === "rewards") return data.message || "Too many responses have no reward. The run is saved.";
  if (data.reason === "health") return data.message || "A health rule paused the run. It is saved.";
  if (data.reason === "lease_lost") return "Stopped: the worker lost its claim on this job";
  return `Stopped and saved after ${place}. The run can continue from there.`;
}

function figures(summary: Figures, stage: string | null, labelOf: LabelOf): string {
  const entries = Object.entries(summary);
  return entries.length
    ? ` (${entries.map(([name, value]) => `${labelOf(stage, name)} ${number(value)}`).join(" · ")})`
    : "";
}

/** The names that programs use for the metrics and settings in the sentence. */
export function programNames(event: JobEvent): string {
  switch (event.type) {
    case "stage_finished":
    case "seed_finished":
      return Object.keys(event.data.summary).join(", ");
    case "health":
      return metricsOf(event.data.evidence);
    case "command_requested":
    case "command_done":
    case "command_refused":
    case "knob_changed":
      return event.data.name;
    default:
      return "";
  }
}

export function levelOf(event: JobEvent): Level {
  switch (event.type) {
    case "run_failed":
      return "error";
    case "message":
      return event.data.level;
    case "seed_finished":
      return event.data.collapsed ? "warning" : "info";
    case "status_changed":
      // A job that returns to the queue lost its worker, or was given back.
      return event.data.to === "failed" ? "error" : event.data.to === "queued" && event.data.from ? "warning" : "info";
    case "run_stopped":
    case "reward_missing":
    case "checkpoint_damaged":
    case "health":
    case "rolled_back":
    case "command_refused":
      return "warning";
    default:
      return "info";
  }
}
