import { duration, measured, number, percent } from "@/lib/format";

/** The part of a job that a table of final figures reads. */
export interface Ended {
  readonly summary?: Readonly<Record<string, number>> | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

export interface Figure {
  readonly id: string;
  readonly label: string;
  /** Null where the run has no such figure. */
  readonly value: (job: Ended) => number | null;
  readonly text: (value: number, job: Ended) => string;
  /** `high`: a high value is better. */
  readonly better: "high" | "low" | null;
}

const figure = (label: string, name: string, text: Figure["text"], better: Figure["better"] = null): Figure => ({
  id: name,
  label,
  value: (job) => job.summary?.[name] ?? null,
  text,
  better,
});

export const FIGURES: readonly Figure[] = [
  figure("Win rate (95 % interval)", "win_rate", (value, job) => withInterval(value, job), "high"),
  figure("Judge", "judge_after", measured, "high"),
  figure("Score", "score_after", measured),
  figure("KL", "kl", measured),
  figure("Length in tokens", "length_after", measured),
  figure("Finished share", "eos_rate_after", (value) => percent(value, 1)),
  figure("Reward model accuracy", "reward_model_accuracy", (value) => percent(value, 1), "high"),
  figure("Best step", "best_step", (value) => number(value)),
  { id: "time", label: "Time", value: seconds, text: (value) => duration(value), better: "low" },
];

function withInterval(rate: number, { summary }: Ended): string {
  const { win_rate_low: low, win_rate_high: high } = summary ?? {};
  if (low === undefined || high === undefined) return percent(rate, 1);
  return `${percent(rate, 1)} (${percent(low, 1)} to ${percent(high, 1)})`;
}

function seconds({ started_at: start, finished_at: end }: Ended): number | null {
  return start && end ? (Date.parse(end) - Date.parse(start)) / 1000 : null;
}

/** Indices of the runs with the best value of a figure; none where all are equal, or where no value is better. */
export function bestOf({ value, better }: Figure, jobs: readonly Ended[]): ReadonlySet<number> {
  const values = jobs.map(value);
  const known = values.filter((one) => one !== null);
  if (!better || known.length < 2 || new Set(known).size < 2) return new Set();
  const best = better === "high" ? Math.max(...known) : Math.min(...known);
  return new Set(values.flatMap((one, index) => (one === best ? [index] : [])));
}
