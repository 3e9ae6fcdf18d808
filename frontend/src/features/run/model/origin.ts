import type { StageView } from "@/features/run/model/stages";
import type { Job, JobParent } from "@/lib/api/types";
import { count } from "@/lib/format";
import { stageShort } from "@/lib/states";

interface Place {
  readonly stage?: string | null | undefined;
  readonly step?: number | null | undefined;
  readonly final?: boolean | null | undefined;
  readonly seed?: number | null | undefined;
}

/** A checkpoint in words, such as "PPO step 40" or "the result of SFT"; empty without one. */
export function placeText({ stage, step, final, seed }: Place): string {
  if (!stage) return "";
  const words = final ? `the result of ${stageShort(stage)}` : `${stageShort(stage)} step ${step ?? 0}`;
  return seed == null ? words : `${words}, seed ${seed}`;
}

const VERBS: Record<JobParent["relation"], string> = {
  clone: "Cloned from",
  branch: "Branched from",
  extend: "Extends",
  continue: "Continues",
};

/** The words before the name of the parent, and those after it. The name of a round follows the last ones. */
export function originText(parent: JobParent): readonly [string, string] {
  const place = placeText(parent);
  const deleted = parent.deleted && parent.name ? ", which was deleted" : "";
  const round = parent.relation === "continue" ? ", with the answers of" : "";
  return [VERBS[parent.relation], `${deleted}${place && `, ${place}`}${round}`];
}

const MADE: Record<string, string> = {
  clone: "cloned from it",
  branch: "branched from it",
  extend: "extended it",
  continue: "continued it",
};

/** The jobs made from a job, such as "2 runs branched from it, 1 run cloned from it". */
export const childrenText = (children: Job["children"]): string =>
  Object.entries(MADE)
    .flatMap(([relation, words]) => (children[relation] ? [`${count(children[relation], "run")} ${words}`] : []))
    .join(", ");

/** The stages of a branch: those that it has inherited are done, in the run that ran them. */
export function withInherited(views: readonly StageView[], parent: JobParent | null): StageView[] {
  return views.map((view) => {
    const inherited = parent?.stages.find((one) => one.stage === view.stage);
    if (!inherited || view.state === "done") return view;
    const { job, name, seconds, summary } = inherited;
    return { ...view, state: "done", seconds, summary, from: { job, name } };
  });
}
