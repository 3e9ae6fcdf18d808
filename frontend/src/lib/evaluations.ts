import type { JobEvent } from "@/lib/api/types";
import { number, percent } from "@/lib/format";

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

const PANELS = [
  {
    id: "score",
    label: "Score",
    meaning: "by the rewards that PPO maximises",
    format: (value: number) => number(value),
  },
  {
    id: "judge",
    label: "Judge",
    meaning: "the judge's mean score, which PPO does not see",
    format: (value: number) => number(value),
  },
  {
    id: "winRate",
    label: "Win rate",
    meaning: "against the policy before PPO",
    format: (value: number) => percent(value),
  },
] as const;
export const panelsOf = (points: readonly Evaluation[]): readonly (typeof PANELS)[number][] =>
  PANELS.filter(({ id }) => points.some((point) => point[id] !== null));

/** The means of several runs at the steps that all of them have evaluated; a run alone as it is. */
export function meanEvaluations(runs: readonly (readonly Evaluation[])[]): readonly Evaluation[] {
  const [first = [], ...others] = runs.filter((points) => points.length > 0);
  if (!others.length) return first;
  const rest = others.map((points) => new Map(points.map((point) => [point.step, point])));
  return first.flatMap((point) => {
    const same = [point, ...rest.flatMap((points) => points.get(point.step) ?? [])];
    if (same.length <= rest.length) return [];
    return meanEvaluation(same) ?? [];
  });
}

/** The mean of each figure, at the first one's step; null of none. */
export function meanEvaluation(points: readonly Evaluation[]): Evaluation | null {
  const [first, other] = points;
  if (!first || !other) return first ?? null;
  const mean = (of: (one: Evaluation) => number | null) => meanOf(points.map(of));
  return {
    step: first.step,
    sqrtKl: mean((one) => one.sqrtKl) ?? 0,
    score: mean((one) => one.score),
    judge: mean((one) => one.judge),
    winRate: mean((one) => one.winRate),
    low: null,
  };
}

/** Null if one of the values is. */
function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length < values.length ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}
