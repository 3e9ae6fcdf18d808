import { lastValue, type Series } from "@/charts/series";
import type { JobEvent } from "@/lib/api/types";
import { measured, percent } from "@/lib/format";
import { hasEnded, type Stage } from "@/lib/states";

export type StageState = "waiting" | "active" | "paused" | "done" | "stopped" | "unreached";

/** Whether a run goes on, waits until it is resumed or a worker takes it again, or is over. */
type Course = "going" | "paused" | "ended";

export const courseOf = (status: string): Course =>
  hasEnded(status) ? "ended" : status === "paused" || status === "queued" ? "paused" : "going";

const OPEN = {
  going: { present: "active", other: "waiting" },
  paused: { present: "paused", other: "waiting" },
  ended: { present: "stopped", other: "unreached" },
} as const satisfies Record<Course, Record<string, StageState>>;

export interface StageView {
  readonly stage: Stage;
  readonly state: StageState;
  /** How long it took, once it is done. */
  readonly seconds: number | null;
  /** Its headline figures, once it is done. */
  readonly summary: Readonly<Record<string, number>>;
  /** The run that ran it, where a branch has inherited its result. */
  readonly from?: { readonly job: string; readonly name: string };
}

/** The stages of a job, from its log. `present` is its current stage. */
export function stageViews(
  log: readonly JobEvent[],
  stages: readonly Stage[],
  present: string | null,
  course: Course,
): StageView[] {
  const finished = new Map(
    log.filter((event) => event.type === "stage_finished").map((event) => [event.stage, event.data]),
  );
  return stages.map((stage) => {
    const data = finished.get(stage);
    return {
      stage,
      state: data ? "done" : OPEN[course][stage === present ? "present" : "other"],
      seconds: data?.seconds ?? null,
      summary: data?.summary ?? {},
    };
  });
}

interface Figure {
  readonly name: string;
  readonly label: string;
  readonly number: number;
  readonly value: string;
}

interface Wanted {
  readonly name: string;
  readonly label: string;
  readonly show?: (value: number) => string;
}

const asPercent = (value: number): string => percent(value, 1);

/** One or two figures for each stage, each with its alternatives in order of preference. */
const WANTED: Record<string, readonly (readonly Wanted[])[]> = {
  sft: [
    [
      { name: "eval/loss", label: "held-out loss" },
      { name: "loss", label: "loss" },
    ],
  ],
  reward_model: [
    [
      { name: "eval/accuracy", label: "held-out accuracy", show: asPercent },
      { name: "loss", label: "loss" },
    ],
  ],
  dpo: [
    [
      { name: "eval/accuracy", label: "held-out accuracy", show: asPercent },
      { name: "loss", label: "loss" },
    ],
  ],
  kto: [
    [
      { name: "eval/margin", label: "held-out margin" },
      { name: "loss", label: "loss" },
    ],
  ],
  ppo: [[{ name: "objective/scores", label: "score" }], [{ name: "objective/kl", label: "KL" }]],
  evaluation: [[{ name: "win_rate", label: "win rate", show: asPercent }], [{ name: "kl", label: "KL" }]],
};

export function headline(view: StageView, series: Readonly<Record<string, Series>>): Figure[] {
  return (WANTED[view.stage] ?? []).flatMap((alternatives) => {
    const known = alternatives.flatMap(({ name, label, show = measured }) => {
      const value = view.summary[name] ?? lastValue(series[name]);
      return value === null ? [] : [{ name, label, number: value, value: show(value) }];
    });
    return known.slice(0, 1);
  });
}

/**
 * The series of a stage to draw. A run evaluates before its first step. Until that step, the few charts of the evaluation
 * would move when all the others appear.
 */
export function settled(series: Readonly<Record<string, Series>>, isOver: boolean): Readonly<Record<string, Series>> {
  return isOver || Object.keys(series).some((name) => !name.startsWith("eval/")) ? series : {};
}
