import { type Curve, curvesOf } from "@/features/compare/api";
import type { Group } from "@/features/compare/model/differences";
import type { Job } from "@/lib/api/types";
import { bestStepOf } from "@/lib/best-checkpoint";
import { type Evaluation, evaluationsOf, meanEvaluation, meanEvaluations } from "@/lib/evaluations";

/** The evaluations of a run, or the means of several runs of one kind and of the seeds of a run. */
export interface Frontier {
  readonly group: Group<Job>;
  /** Number of its colour. */
  readonly colour: number;
  readonly points: readonly Evaluation[];
  /** The step of the best evaluation of each run and seed, where it is known, and the figures there: their means. */
  readonly bestSteps: readonly number[];
  readonly best: Evaluation | null;
  /** Number of runs and seeds that the points are the means over. */
  readonly n: number;
}

/** The lines of the groups that have two evaluations. `curves` are those of the runs, in the order of the groups. */
export function frontiersOf(
  groups: readonly Group<Job>[],
  curves: readonly (ReadonlyMap<string, readonly Curve[]> | undefined)[],
): Frontier[] {
  let next = 0;
  return groups.flatMap((group, colour) => {
    const runs = group.runs.flatMap((run) => runsOf(run, curves[next++]));
    const points = meanEvaluations(runs.map((run) => run.points));
    const bests = runs.flatMap((run) => run.points.find(({ step }) => step === run.best) ?? []);
    const bestSteps = bests.map(({ step }) => step);
    return points.length < 2 ? [] : [{ group, colour, points, bestSteps, best: meanEvaluation(bests), n: runs.length }];
  });
}

/** The evaluations of a run, or of each of its seeds, with the step of the best one. */
function runsOf(run: Job, found: ReadonlyMap<string, readonly Curve[]> | undefined) {
  const bySeed = new Map<number | null, Record<string, Curve["series"]>>();
  for (const [name, curves] of found ?? [])
    for (const { seed, series } of curvesOf(run, curves)) bySeed.set(seed, { ...bySeed.get(seed), [name]: series });
  return [...bySeed].map(([seed, series]) => {
    const summary = seed === null ? run.summary : run.seeds.find((one) => one.seed === seed)?.summary;
    return { points: evaluationsOf(series, []), best: bestStepOf(series) ?? summary?.best_step ?? null };
  });
}

/** The name of its line; of a mean, with the number of runs. */
export const named = ({ group, n }: Frontier): string => group.short + (n > 1 ? `, mean of ${n}` : "");

/** The point of a line that is shown first: that of its only run's best evaluation, else the last one. */
export function bestIndex(one: Frontier | undefined): number {
  if (!one) return 0;
  const best = one.bestSteps.length === 1 ? one.points.findIndex(({ step }) => step === one.bestSteps[0]) : -1;
  return best < 0 ? one.points.length - 1 : best;
}
