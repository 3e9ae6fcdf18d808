import type { Evaluation } from "@/lib/evaluations";
import { measured, percent } from "@/lib/format";

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

/** The finding in words. `best`: the step of the best checkpoint, which the trainer chooses by the win rate first. */
export function findingText(
  { step, gold, goldThen, goldNow, scoreThen, scoreNow }: Finding,
  best: number | null,
): string {
  const judgement =
    gold === "judge"
      ? `the judge's score fell from ${measured(goldThen)} to ${measured(goldNow)}`
      : `the win rate fell from ${percent(goldThen)} to ${percent(goldNow)}`;
  return (
    `Since step ${step}, ${judgement}, while the score rose from ${measured(scoreThen)} to ${measured(scoreNow)}. ` +
    `The policy now exploits errors of the rewards. Use the best checkpoint${best === null ? "" : `, of step ${best}`}, ` +
    "or run again with a larger `ppo.kl.coef`."
  );
}
