import { average, meanWithInterval, withoutBand } from "@/charts/average";
import type { ChartLine } from "@/charts/columns";
import { placed } from "@/charts/placed";
import type { Placement } from "@/charts/placement";
import { emptySeries, type Series } from "@/charts/series";
import { ofSeed, type RunState } from "@/features/run/model/state";
import { courseOf, headline, type StageState, stageViews, type StageView } from "@/features/run/model/stages";
import type { History } from "@/features/run/model/use-history";
import type { Job, SeedResult } from "@/lib/api/types";
import { count, measured, percent } from "@/lib/format";
import { endedSeeds, type Spread, spreadOf, spreadParts } from "@/lib/seeds";
import type { Stage } from "@/lib/states";

type ByName = Readonly<Record<string, Series>>;

/** A run whose curves a chart draws: the job, or one of its seeds. */
export interface SeedRun {
  /** Null in a job of one seed. */
  readonly seed: number | null;
  readonly series: ByName;
  /** Whether the mean over the seeds contains it: it came to its end. */
  readonly counts: boolean;
  /** How it lies on the axis; null where it has no place there. Without one, the axis shows steps. */
  readonly placement?: Placement | null;
}

/** The seed that the address names; null for all. */
export const namedSeed = (seeds: readonly SeedResult[], named: string | null): number | null =>
  seeds.find(({ seed }) => String(seed) === named)?.seed ?? null;

export const runOfSeed = (run: RunState, seeds: readonly SeedResult[], seed: number): RunState =>
  ofSeed(run, seed, seed === seeds[0]?.seed);

/** The stages of one seed. */
export function stagesOfSeed(run: RunState, job: Job, stages: readonly Stage[], seed: SeedResult): StageView[] {
  return stageViews(run.log, stages, seed.stage, seed.seconds === null ? courseOf(job.status) : "ended");
}

/** The stages over all seeds: their state together, and the time of all. The figures are in `headlineOfSeeds`. */
export function stagesTogether(views: readonly (readonly StageView[])[]): StageView[] {
  const [first = []] = views;
  return first.map(({ stage }, index) => {
    const all = views.flatMap((view) => view[index] ?? []);
    const done = all.filter(({ state }) => state === "done");
    const states: StageState[] = ["active", "paused", "waiting", "stopped", "done", "unreached"];
    const state = states.find((one) => all.some((view) => view.state === one)) ?? "waiting";
    const isBegun = state === "waiting" && done.length > 0;
    return {
      stage,
      state: isBegun ? "active" : state,
      seconds: done.length === all.length ? done.reduce((sum, { seconds }) => sum + (seconds ?? 0), 0) : null,
      summary: {},
    };
  });
}

const SHARES = ["win_rate", "eval/accuracy"];

/** The mean of the seeds' figures with its interval, which lies in [0, 1] for shares, as the trainer summarises seeds. */
function spreadOver(values: readonly number[], isShare: boolean): Spread {
  const { mean, half } = meanWithInterval(values);
  if (values.length < 2) return { mean, low: null, high: null };
  const [low, high] = [mean - half, mean + half];
  return isShare ? { mean, low: Math.max(0, low), high: Math.min(1, high) } : { mean, low, high };
}

/** The headline figures of a stage over the seeds: the mean of those that came to its end. */
export function headlineOfSeeds(
  index: number,
  runs: readonly SeedRun[],
  views: readonly (readonly StageView[])[],
  summary: Job["seeds_summary"],
) {
  const done = views.flatMap((view, at) => {
    const one = view[index];
    return one?.state === "done" ? [{ one, series: runs[at]?.series ?? {} }] : [];
  });
  const found = done.map(({ one, series }) => headline(one, series));
  return (found[0] ?? []).map(({ name, label }) => {
    const values = found.flatMap((figures) => figures.find((figure) => figure.name === name)?.number ?? []);
    const spread = done[0]?.one.stage === "evaluation" ? spreadOf(summary, name) : null;
    const n = spread ? endedSeeds(summary) : values.length;
    const isShare = SHARES.includes(name);
    const show = isShare ? (value: number) => percent(value, 1) : measured;
    return { label: `mean ${label}`, ...spreadParts(spread ?? spreadOver(values, isShare), n, show) };
  });
}

export type Curves = "both" | "mean" | "each";
export const CURVES = [
  { id: "both", label: "Mean and each seed" },
  { id: "mean", label: "Mean" },
  { id: "each", label: "Each seed" },
] as const;

/** A mean of steps is no step. */
const BEST_STEP = "eval/best_step";

/** The lines of a metric in the ancestors of a branch, below its own ones. */
export function linesOfHistory(history: readonly History[], name: string, line: ChartLine): ChartLine[] {
  const of = line.label && `: ${line.label}`;
  return history.flatMap(({ key, label, series, placement }) => {
    const one = series[name];
    if (!one?.steps.length || placement === null) return [];
    const along = placement?.along ?? null;
    const own = { key: `${line.key} ${key}`, label: `${label}${of}`, series: one, along };
    return [{ ...line, ...own, thin: true, dashed: true }];
  });
}

/** The lines of a metric: the run itself, or the mean of several seeds with its interval, and each seed thin. */
export function linesOf(runs: readonly SeedRun[], name: string, line: ChartLine, curves: Curves): ChartLine[] {
  const [only, ...others] = runs;
  if (!others.length && only?.placement === null) return [];
  if (!others.length) return [{ ...line, series: only?.series[name] ?? emptySeries, ...alongOf(only) }];
  const measured = runs.filter((run) => run.series[name]?.steps.length && run.placement !== null);
  const counted = name === BEST_STEP ? [] : measured.filter((run) => run.counts);
  // The seed comes first: a long name is cut at its end, and the colour shows the metric.
  const of = line.label && `: ${line.label}`;
  const each = measured.map((run, index) => ({
    ...line,
    key: `${line.key} ${run.seed}`,
    label: `seed ${run.seed}${of}`,
    series: withoutBand(run.series[name] ?? emptySeries),
    ...alongOf(run),
    ...(curves === "each" ? { colour: (line.colour ?? 0) * runs.length + index } : { thin: true }),
  }));
  const averaged = counted.length < 2 ? emptySeries : meanOf(counted.map((run) => onAxis(run, name)));
  // Seeds that share no part of the axis, such as a time of day, have no mean.
  if (curves === "each" || !averaged.steps.length)
    return curves === "each" ? each : each.map((one) => ({ ...one, thin: false }));
  const mean: ChartLine = {
    ...line,
    label: `mean of ${count(counted.length, "seed")}${of}`,
    title: `mean of ${count(counted.length, "seed")} with its 95 % interval${of}`,
    series: averaged,
    placed: counted.some((run) => run.placement?.along),
  };
  return curves === "mean" ? [mean] : [mean, ...each];
}

const alongOf = (run: SeedRun | undefined) => ({ along: run?.placement?.along ?? null });

function onAxis({ series, placement }: SeedRun, name: string): Series {
  const one = series[name] ?? emptySeries;
  return placement?.along ? placed(one, placement.along) : one;
}

const MEANS = new WeakMap<Series, { readonly of: readonly Series[]; readonly mean: Series }>();

/** The mean of series: the same object while they are the same, so that its chart is not drawn again. */
function meanOf(series: readonly Series[]): Series {
  const [first = emptySeries] = series;
  const known = MEANS.get(first);
  if (known && known.of.length === series.length && known.of.every((one, index) => one === series[index]))
    return known.mean;
  const mean = average(series);
  MEANS.set(first, { of: series, mean });
  return mean;
}
