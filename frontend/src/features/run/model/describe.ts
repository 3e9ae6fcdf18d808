import { type RunEvent, stageOf, stepOf } from "@/features/run/model/event";
import { count, duration, number, NO_VALUE } from "@/lib/format";
import { stageShort } from "@/lib/states";

type Level = "info" | "warning" | "error";

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const stage = (event: RunEvent): string => stageShort(stageOf(event) ?? "");

/** An event in a sentence, for the log. */
export function describe(event: RunEvent): string {
  const { data } = event;
  switch (event.type) {
    case "status_changed":
      return `${data.from ? `${text(data.from)} → ` : ""}${text(data.to)}${data.reason ? `: ${text(data.reason)}` : ""}`;
    case "run_started":
      return started(event);
    case "stage_started":
      return `${stage(event)} begins${Number(data.start_step) ? ` again after step ${Number(data.start_step)}` : ""}, ${count(Number(data.total_steps), "step")}`;
    case "checkpoint_saved":
      return `${seed(data.seed)}${stage(event)} step ${stepOf(event) ?? NO_VALUE} saved${saved(data)}`;
    case "health":
      return `${text(data.rule).replaceAll("_", " ")} at step ${stepOf(event) ?? NO_VALUE}: ${text(data.cause)} ${text(data.suggestion)}`;
    case "rolled_back":
      return `${stage(event)} goes on from the weights of step ${Number(data.to_step)}, learning rates × ${number(Number(data.learning_rate_factor))}`;
    case "curve":
      return `Over-optimisation curve of ${count(lengthOf(data.points), "evaluation")}`;
    case "report_card":
      return `${stage(event)}: report card on the held-out rows`;
    case "seed_finished":
      return `Seed ${Number(data.seed)} (${Number(data.number)} of ${Number(data.of)}) ${ended(data)}`;
    case "stage_finished":
      return `${stage(event)} done in ${duration(Number(data.seconds))}${figures(data.summary)}`;
    case "message":
      return text(data.text);
    case "run_finished":
      return `The run is complete after ${duration(Number(data.seconds))}`;
    case "run_failed":
      return `${text(data.code)}: ${text(data.message)}`;
    case "run_stopped":
      if (data.reason === "health") return text(data.message) || "Paused by a health rule, saved";
      return data.reason === "lease_lost"
        ? "Stopped: the worker lost its claim on this job"
        : `Stopped after ${stage(event)} step ${stepOf(event) ?? NO_VALUE}, saved, can go on from there`;
    default:
      return JSON.stringify(data);
  }
}

function started(event: RunEvent): string {
  const { device, resumed_stage: resumed, resumed_step: step } = event.data;
  const where = typeof device === "string" ? ` on ${device}` : "";
  const from = typeof resumed === "string" ? `, resuming ${stageShort(resumed)} after step ${Number(step ?? 0)}` : "";
  return `The trainer is ready${where}${from}`;
}

const seed = (value: unknown): string => (typeof value === "number" ? `Seed ${value}: ` : "");
const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0);

function saved(data: RunEvent["data"]): string {
  return data.final ? ", the stage's result" : data.best ? ", the best so far" : "";
}

function ended(data: RunEvent["data"]): string {
  const why = text(data.why);
  return data.collapsed ? `collapsed${why && `: ${why}`}` : `done${figures(data.summary)}`;
}

function figures(summary: unknown): string {
  const entries = Object.entries(summary ?? {}).filter(
    (entry): entry is [string, number] => typeof entry[1] === "number",
  );
  return entries.length ? ` (${entries.map(([name, value]) => `${name} ${number(value)}`).join(", ")})` : "";
}

const WORRYING = new Set(["run_stopped", "health", "rolled_back"]);

export function levelOf(event: RunEvent): Level {
  if (event.type === "run_failed" || event.data.to === "failed" || event.data.level === "error") return "error";
  if (event.data.level === "warning" || WORRYING.has(event.type) || event.data.collapsed === true) return "warning";
  // Back in the queue after having run: a worker was lost, or gave the job back.
  return event.type === "status_changed" && event.data.to === "queued" && event.data.from ? "warning" : "info";
}
