import type { Checkpoint, JobEvent } from "@/lib/api/types";

interface Series {
  readonly steps: readonly number[];
  readonly values: readonly number[];
}

/** One evaluation of the held-out prompts. */
export interface Evaluation {
  readonly step: number;
  /** √ of the mean KL to the policy before PPO. */
  readonly sqrtKl: number;
  readonly score: number | null;
  readonly judge: number | null;
  readonly winRate: number | null;
  /** Lower end of the win rate's 95 % interval. */
  readonly low: number | null;
}

/** The evaluations by step: from the metrics, or from the curve that the stage reports at its end. */
export function evaluationsOf(series: Readonly<Record<string, Series>>, log: readonly JobEvent[]): Evaluation[] {
  const kl = series["eval/sqrt_kl"];
  if (!kl?.steps.length) {
    const curve = log.findLast((event) => event.type === "curve");
    return (curve?.data.points ?? []).map(({ step, sqrt_kl, score, judge, win_rate }) => ({
      step,
      sqrtKl: sqrt_kl,
      score: score ?? null,
      judge: judge ?? null,
      winRate: win_rate,
      low: null,
    }));
  }
  const read = (name: string) => {
    const found = series[name];
    const values = new Map(found?.steps.map((step, index) => [step, found.values[index]]));
    return (step: number) => values.get(step) ?? null;
  };
  const [score, judge, winRate, low] = ["score", "judge", "win_rate", "win_rate_low"].map((name) =>
    read(`eval/${name}`),
  );
  return kl.steps.map((step, index) => ({
    step,
    sqrtKl: kl.values[index] ?? 0,
    score: score?.(step) ?? null,
    judge: judge?.(step) ?? null,
    winRate: winRate?.(step) ?? null,
    low: low?.(step) ?? null,
  }));
}

export const PANELS = [
  { id: "score", label: "Score", meaning: "by the rewards that PPO maximises" },
  { id: "judge", label: "Judge", meaning: "the judge's mean score, which PPO does not see" },
  { id: "winRate", label: "Win rate", meaning: "against the policy before PPO" },
] as const;
export type PanelId = (typeof PANELS)[number]["id"];

export const panelsOf = (points: readonly Evaluation[]): readonly (typeof PANELS)[number][] =>
  PANELS.filter(({ id }) => points.some((point) => point[id] !== null));

export interface Finding {
  /** Step of the highest judgement. */
  readonly step: number;
  readonly gold: "judge" | "winRate";
  readonly goldThen: number;
  readonly goldNow: number;
  readonly scoreThen: number;
  readonly scoreNow: number;
}

const LEAST_POINTS = 5;
/** Share of its own range that the judgement has to fall by. */
const LEAST_FALL = 0.2;

/**
 * Over-optimisation (Gao et al. 2022): the judge's verdict has fallen from its peak while the score went on rising. The end is
 * the mean of the last two evaluations. A fall of the win rate must also be larger than the interval at the peak is to one
 * side. Null without a judge, or where the data do not show it.
 */
export function overOptimisation(points: readonly Evaluation[], judged: boolean): Finding | null {
  if (!judged || points.length < LEAST_POINTS) return null;
  const gold = points.every((point) => point.judge !== null) ? "judge" : "winRate";
  const golds = points.map((point) => point[gold] ?? Number.NaN);
  const scores = points.map((point) => point.score ?? Number.NaN);
  if ([...golds, ...scores].some(Number.isNaN)) return null;
  const peak = golds.indexOf(Math.max(...golds));
  const [top, scoreThen] = [golds[peak] ?? 0, scores[peak] ?? 0];
  if (peak > points.length - 3) return null;
  const [goldNow, scoreNow] = [endOf(golds), endOf(scores)];
  const fall = top - goldNow;
  const noise = gold === "winRate" ? top - (points[peak]?.low ?? top) : 0;
  const isFall = fall > noise && fall >= LEAST_FALL * (top - Math.min(...golds));
  if (!isFall || scoreNow <= scoreThen) return null;
  return { step: points[peak]?.step ?? 0, gold, goldThen: top, goldNow, scoreThen, scoreNow };
}

const endOf = (values: readonly number[]): number => ((values.at(-1) ?? 0) + (values.at(-2) ?? 0)) / 2;

export interface Best {
  readonly step: number;
  readonly winRate: number | null;
  /** Null where the checkpoint was not kept. */
  readonly checkpoint: Checkpoint | null;
}

/** The evaluation with the highest win rate, and its checkpoint. The first of equal ones counts, as in the trainer. */
export function bestOf(points: readonly Evaluation[], checkpoints: readonly Checkpoint[]): Best | null {
  const own = checkpoints.filter((one) => one.stage === "ppo" && one.seed === null);
  const kept = own.find((one) => one.best);
  const winRateAt = (step: number) => points.find((point) => point.step === step)?.winRate ?? null;
  if (kept) return { step: kept.step, winRate: winRateAt(kept.step), checkpoint: kept };
  const rated = points.filter((point) => point.winRate !== null);
  if (!rated.length) return null;
  const best = rated.reduce((a, b) => ((b.winRate ?? 0) > (a.winRate ?? 0) ? b : a));
  return { step: best.step, winRate: best.winRate, checkpoint: own.find((one) => one.step === best.step) ?? null };
}

/** Round numbers within a range: about `wanted` of them. */
export function ticksWithin(low: number, high: number, wanted: number): number[] {
  const rough = (high - low) / Math.max(1, wanted);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10) * power;
  const [first, last] = [Math.ceil(low / step), Math.floor(high / step)];
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}
