import { duration, measured, number, percent } from "@/lib/format";
import { endedSeeds, spreadOf, spreadText } from "@/lib/seeds";

/** The part of a job that a table of final figures reads. */
export interface Ended {
  readonly summary?: Readonly<Record<string, number>> | null;
  readonly seeds?: readonly { readonly summary: Readonly<Record<string, number>> | null }[];
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

export interface Figure {
  readonly id: string;
  readonly label: string;
  /** Null where the run has no such figure. */
  readonly value: (job: Ended) => number | null;
  readonly text: (value: number, job: Ended) => string;
  /** A value alone, such as a mean over runs. */
  readonly show: (value: number) => string;
  /** `high`: a high value is better. */
  readonly better: "high" | "low" | null;
}

const percentText = (value: number): string => percent(value, 1);

/** The mean over the seeds with its interval and their number. */
function meanText(name: string, show: (value: number) => string, summary: Ended["summary"]): string | null {
  const spread = spreadOf(summary, name);
  return spread && spreadText(spread, endedSeeds(summary), show);
}

/** The best step of each seed of a run. */
const stepsOf = ({ seeds }: Ended): number[] => seeds?.flatMap(({ summary }) => summary?.best_step ?? []) ?? [];

const figure = (
  label: string,
  name: string,
  show: Figure["show"],
  better: Figure["better"] = null,
  text: Figure["text"] = show,
): Figure => ({ id: name, label, value: (job) => job.summary?.[name] ?? null, text, show, better });

const share = percentText;

/** A figure of the run; of several seeds, the mean with its interval. */
const overSeeds = (
  label: string,
  name: string,
  show: (value: number) => string,
  better: Figure["better"] = null,
): Figure =>
  figure(
    label,
    name,
    show,
    better,
    (value, { summary }) => (summary?.seeds === undefined ? null : meanText(name, show, summary)) ?? show(value),
  );

export const FIGURES: readonly Figure[] = [
  figure("Win rate (95 % interval)", "win_rate", percentText, "high", (value, job) => withInterval(value, job)),
  overSeeds("Judge", "judge_after", measured, "high"),
  overSeeds("Score at the evaluation", "score_after", measured),
  overSeeds("KL", "kl", measured),
  overSeeds("Length in tokens", "length_after", measured),
  overSeeds("Finished share", "eos_rate_after", share),
  overSeeds("Reward model accuracy", "reward_model_accuracy", share, "high"),
  {
    id: "best_step",
    label: "Best step",
    // The seeds of a run have a best step each, and no mean of them.
    value: (job) => job.summary?.best_step ?? stepsOf(job)[0] ?? null,
    text: (value, job) =>
      stepsOf(job)
        .map((step) => number(step))
        .join(", ") || number(value),
    show: number,
    better: null,
  },
  { id: "time", label: "Time", value: seconds, text: duration, show: duration, better: "low" },
];

function withInterval(rate: number, { summary }: Ended): string {
  const { win_rate_low: low, win_rate_high: high, seeds } = summary ?? {};
  if (seeds !== undefined) return meanText("win_rate", percentText, summary) ?? percent(rate, 1);
  if (low === undefined || high === undefined) return percent(rate, 1);
  return `${percent(rate, 1)} (${percent(low, 1)} to ${percent(high, 1)})`;
}

function seconds({ started_at: start, finished_at: end }: Ended): number | null {
  return start && end ? (Date.parse(end) - Date.parse(start)) / 1000 : null;
}

/** Indices of the runs with the best value of a figure; none where all are equal, or where no value is better. */
export const bestOf = (figure: Figure, jobs: readonly Ended[]): ReadonlySet<number> =>
  bestIndices(jobs.map(figure.value), figure.better);

/** Indices of the best values; none where all are equal, or where no value is better. */
export function bestIndices(values: readonly (number | null)[], better: Figure["better"]): ReadonlySet<number> {
  const known = values.filter((one) => one !== null);
  if (!better || known.length < 2 || new Set(known).size < 2) return new Set();
  const best = better === "high" ? Math.max(...known) : Math.min(...known);
  return new Set(values.flatMap((one, index) => (one === best ? [index] : [])));
}
