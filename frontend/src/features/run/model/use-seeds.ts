import { useMemo } from "react";
import { withInherited } from "@/features/run/model/origin";
import { namedSeed, runOfSeed, stagesOfSeed, stagesTogether } from "@/features/run/model/seeds";
import { bestSeed, cameToEnd } from "@/lib/seeds";
import { stagesOf } from "@/features/run/model/spec";
import type { RunState } from "@/features/run/model/state";
import { courseOf, stageViews, type StageView } from "@/features/run/model/stages";
import { useParameter } from "@/lib/address";
import type { Job } from "@/lib/api/types";

/** The state of one seed, or of the job where it has one seed. */
interface SeedState {
  readonly seed: number | null;
  readonly run: RunState;
  readonly stages: readonly StageView[];
  /** Whether the means over the seeds contain it. */
  readonly counts: boolean;
}

export interface Seeds {
  /** The seed that the user has chosen; null for all. */
  readonly chosen: number | null;
  readonly choose: (seed: number | null) => void;
  /** The seed whose completions and result are shown. */
  readonly one: SeedState;
  /** The seeds that the charts draw: every one, or the chosen one. */
  readonly all: readonly SeedState[];
  /** The stages over all of these. */
  readonly stages: readonly StageView[];
}

/** The seeds of a job, one of which the address may name by `?seed=`. */
export function useSeeds(job: Job | undefined, run: RunState): Seeds | null {
  const [named, setNamed] = useParameter("seed");
  const states = useMemo(() => (job ? statesOf(job, run) : []), [job, run]);
  if (!job) return null;
  const chosen = namedSeed(job.seeds, named);
  const best = bestSeed(job);
  const one = states.find(({ seed }) => seed === (chosen ?? best)) ?? states[0];
  if (!one) return null;
  const all = chosen === null ? states : [one];
  return {
    chosen,
    choose: (seed) => setNamed(seed === null ? null : String(seed)),
    one,
    all,
    stages: all.length > 1 ? stagesTogether(all.map(({ stages }) => stages)) : one.stages,
  };
}

function statesOf(job: Job, run: RunState): SeedState[] {
  const stages = stagesOf(job.spec);
  const views = () => stageViews(run.log, stages, job.stage, courseOf(job.status));
  if (!job.seeds.length) return [{ seed: null, run, stages: withInherited(views(), job.parent), counts: true }];
  return job.seeds.map((seed) => {
    const own = runOfSeed(run, job.seeds, seed.seed);
    return { seed: seed.seed, run: own, stages: stagesOfSeed(own, job, stages, seed), counts: cameToEnd(seed) };
  });
}
