import { KNOBS } from "@/lib/api/knobs.gen";
import type { Mark, MarkKind } from "@/charts/marks";
import type { JobEvent } from "@/lib/api/types";
import { number } from "@/lib/format";
import { findingTitle } from "@/lib/labels";

/**
 * The events of a stage that its charts mark, each once, and its evaluations. A pause names no step, so it belongs to the last
 * event before it. With `namesSeeds`, each text begins with its seed.
 */
export function marksOf(
  log: readonly JobEvent[],
  stage: string,
  evaluated: readonly number[] = [],
  namesSeeds = false,
): Mark[] {
  const marks = new Map<string, Mark>();
  for (const step of evaluated) marks.set(`${step}`, { step, kind: "evaluation", text: "Held-out evaluation" });
  let latest: { stage: string; step: number } | null = null;
  for (const event of log) {
    if (event.stage !== null && event.step !== null) latest = { stage: event.stage, step: event.step };
    const at = event.type === "stage_started" ? { stage: event.stage, step: event.data.start_step } : latest;
    const [kind, what] = markOf(event) ?? [];
    if (!kind || !what || at?.stage !== stage) continue;
    const text = namesSeeds && event.seed !== null ? `Seed ${event.seed}: ${what}` : what;
    marks.set(`${kind} ${at.step} ${text}`, { step: at.step, kind, text, ...(namesSeeds && { seed: event.seed }) });
  }
  return [...marks.values()].sort((a, b) => a.step - b.step);
}

/** Evaluations at more than this share of the steps are not marked: the charts would be full of lines. */
const MOST_EVALUATED = 0.34;

/** The steps with held-out measurements, of metrics that begin with `eval/`; none if nearly every step has some. */
export function evaluatedSteps(series: Readonly<Record<string, { readonly steps: readonly number[] }>>): number[] {
  const all = Object.entries(series);
  const evaluated = all.filter(([name]) => name.startsWith("eval/")).map(([, one]) => one.steps);
  const most =
    MOST_EVALUATED * Math.max(0, ...all.map(([name, one]) => (name.startsWith("eval/") ? 0 : one.steps.length)));
  if (evaluated.some((steps) => steps.length > most)) return [];
  const steps = new Set(evaluated.flat());
  return steps.size > most ? [] : [...steps].sort((a, b) => a - b);
}

function markOf(event: JobEvent): [MarkKind, string] | null {
  switch (event.type) {
    case "checkpoint_saved":
      return ["checkpoint", event.data.best ? "Best checkpoint" : "Checkpoint"];
    case "health":
      return ["finding", `Finding: ${findingTitle(event.data)}`];
    case "knob_changed":
      return ["knob", `${KNOBS[event.data.name].label}: ${number(event.data.from)} → ${number(event.data.to)}`];
    case "command_done":
      return event.data.name === "evaluate" ? ["evaluation", "Evaluation on request"] : null;
    case "rolled_back":
      return ["pause", `Rolled back to step ${event.data.to_step}`];
    case "stage_started":
      return event.data.start_step > 0 ? ["pause", "Resumed"] : null;
    case "status_changed":
      return event.data.to === "paused" ? ["pause", "Paused"] : null;
    default:
      return null;
  }
}
