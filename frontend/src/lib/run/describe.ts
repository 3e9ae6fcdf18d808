import { count, duration, number } from "@/lib/format";
import { stageOf, stepOf, type RunEvent } from "@/lib/run/event";
import { stageShort } from "@/lib/stages";

export type Level = "info" | "warning" | "error";

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
      return `${stage(event)} step ${stepOf(event) ?? "–"} saved${data.final ? ", the stage's result" : ""}`;
    case "stage_finished":
      return `${stage(event)} done in ${duration(Number(data.seconds))}${figures(data.summary)}`;
    case "message":
      return text(data.text);
    case "run_finished":
      return `The run is complete after ${duration(Number(data.seconds))}`;
    case "run_failed":
      return `${text(data.code)}: ${text(data.message)}`;
    case "run_stopped":
      return data.reason === "lease_lost"
        ? "Stopped: the worker lost its claim on this job"
        : `Stopped after ${stage(event)} step ${stepOf(event) ?? "–"}, saved, can go on from there`;
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

function figures(summary: unknown): string {
  const entries = Object.entries(summary ?? {}).filter(
    (entry): entry is [string, number] => typeof entry[1] === "number",
  );
  return entries.length ? ` (${entries.map(([name, value]) => `${name} ${number(value)}`).join(", ")})` : "";
}

export function levelOf(event: RunEvent): Level {
  if (event.type === "run_failed" || event.data.to === "failed" || event.data.level === "error") return "error";
  if (event.data.level === "warning" || event.type === "run_stopped") return "warning";
  // Back in the queue after having run: a worker was lost, or gave the job back.
  return event.type === "status_changed" && event.data.to === "queued" && event.data.from ? "warning" : "info";
}
