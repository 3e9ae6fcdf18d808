import { numberFault, numberIn } from "@/lib/numbers";
import { bareDataset } from "@/features/annotation/model/dataset-reference";
import { stageShort } from "@/lib/states";

/** The form of a new round, as it is typed. An empty text is what was left out. */
export interface Draft {
  readonly name: string;
  readonly kind: "pairs" | "ranking";
  readonly from: "dataset" | "checkpoints";
  readonly dataset: string;
  readonly rows: "unlabelled" | "all";
  readonly limit: string;
  readonly first: string;
  /** Empty: the first one writes all completions. */
  readonly second: string;
  readonly prompts: string;
  /** Completions of each checkpoint, in a ranking. */
  readonly completions: string;
  readonly temperature: string;
  readonly maxNewTokens: string;
  readonly overlap: string;
  /** In percent. */
  readonly goldShare: string;
  readonly gold: string;
  readonly instructions: string;
  readonly rewardModel: string;
}

export const emptyDraft: Draft = {
  name: "",
  kind: "pairs",
  from: "dataset",
  dataset: "",
  rows: "unlabelled",
  limit: "",
  first: "",
  second: "",
  prompts: "",
  completions: "2",
  temperature: "1",
  maxNewTokens: "",
  overlap: "1",
  goldShare: "0",
  gold: "",
  instructions: "",
  rewardModel: "",
};

interface AnyJob {
  readonly name: string;
  readonly summary?: Readonly<Record<string, number>> | null;
  readonly spec: {
    readonly data: {
      readonly preferences?: string | null | undefined;
      readonly prompts?: string | null | undefined;
      readonly sft?: string | null | undefined;
    };
  };
}

interface AnyCheckpoint {
  readonly id: string;
  readonly stage: string;
  readonly step: number;
  readonly final: boolean;
  readonly best: boolean;
  readonly seed: number | null;
}

const MOST_ITEMS = 20_000;
const POLICY_STAGES = ["sft", "dpo", "kto", "ppo"];

export const isPolicy = ({ stage }: { readonly stage: string }): boolean => POLICY_STAGES.includes(stage);

/** The checkpoint in words, so that no two of a job are called the same. */
export function checkpointLabel({ stage, step, final, best, seed }: AnyCheckpoint): string {
  const kind = final ? ", final" : best ? ", best" : "";
  return `${stageShort(stage)}, step ${step}${kind}${seed === null ? "" : `, seed ${seed}`}`;
}

/** The seed whose models are compared: the best one, or the first that came furthest while there is none. */
function seedOf(job: AnyJob, checkpoints: readonly AnyCheckpoint[]): number | null {
  const best = job.summary?.best_seed;
  if (best !== undefined && checkpoints.some((one) => one.seed === best)) return best;
  const furthest = ({ stage, final }: AnyCheckpoint) => 2 * POLICY_STAGES.indexOf(stage) + Number(final);
  const [first, ...others] = checkpoints.filter(({ seed }) => seed !== null);
  if (!first) return null;
  return others.reduce((found, one) => (furthest(one) > furthest(found) ? one : found), first).seed;
}

/** The draft that compares the last policy of a job with the one before it, both of one seed. */
export function draftOfJob(job: AnyJob, all: readonly AnyCheckpoint[]): Draft {
  const seed = seedOf(job, all);
  const checkpoints = all.filter((one) => one.seed === seed);
  const final = (stage: string) => checkpoints.find((one) => one.stage === stage && one.final)?.id;
  const policies = POLICY_STAGES.map(final).filter((id) => id !== undefined);
  const { preferences, prompts, sft } = job.spec.data;
  return {
    ...emptyDraft,
    name: job.name && `${job.name}: completions`,
    from: "checkpoints",
    first: policies.at(-1) ?? checkpoints.filter(isPolicy).at(-1)?.id ?? "",
    second: policies.at(-2) ?? "",
    prompts: bareDataset(prompts ?? preferences ?? sft ?? ""),
    limit: "100",
    gold: bareDataset(preferences ?? ""),
    rewardModel: final("reward_model") ?? "",
  };
}

/** Preferences are judged themselves; of any other kind, the prompts are answered first. `reference` may name a version. */
export function draftOfDataset(kind: string, reference: string): Draft {
  if (kind === "preferences") return { ...emptyDraft, dataset: reference };
  return { ...emptyDraft, from: "checkpoints", prompts: reference };
}

/** Messages by field. */
export type Problems = Partial<Record<keyof Draft, string | undefined>>;

/** A message for each field that is missing or invalid. */
export function problemsOf(draft: Draft): Problems {
  const problems: Problems = {
    ...(draft.from === "dataset" ? datasetProblems(draft) : checkpointProblems(draft)),
    overlap: outside(draft.overlap, 1, 20),
    goldShare: outside(draft.goldShare, 0, 50, false),
  };
  if (draft.limit.trim()) problems.limit = outside(draft.limit, 1, MOST_ITEMS);
  if (valueOf(draft.goldShare) > 0 && !draft.gold && !ownGold(draft)) {
    problems.gold = "Choose a dataset with correct labels.";
  }
  return Object.fromEntries(Object.entries(problems).filter(([, problem]) => problem));
}

/** Unlabelled rows may take their gold questions from the labelled ones of the same dataset. */
const ownGold = ({ from, rows }: Draft): boolean => from === "dataset" && rows === "unlabelled";

const datasetProblems = ({ dataset }: Draft): Problems => (dataset ? {} : { dataset: "Choose a dataset." });

function checkpointProblems(draft: Draft): Problems {
  const problems: Problems = { temperature: outside(draft.temperature, 0.01, 10, false) };
  if (!draft.first) problems.first = "Choose the checkpoint that writes the completions.";
  if (!draft.prompts) problems.prompts = "Choose the dataset whose prompts are answered.";
  if (draft.maxNewTokens.trim()) problems.maxNewTokens = outside(draft.maxNewTokens, 1, 8192);
  const shown = modelsOf(draft).length * valueOf(draft.completions);
  if (draft.kind === "ranking" && !(Number.isInteger(shown) && shown >= 2 && shown <= 9)) {
    problems.completions = "Between 2 and 9 completions in all can be ranked.";
  }
  return problems;
}

function outside(text: string, low: number, high: number, whole = true): string | undefined {
  if (text.trim() && !numberFault(text, { integer: whole, min: low, max: high })) return undefined;
  const range = `from ${low.toLocaleString("en-US")} to ${high.toLocaleString("en-US")}`;
  return `${whole ? "A whole number" : "A number"} ${range}.`;
}

/** The number of a field; NaN for a text that is none. */
export const valueOf = (text: string): number => (text.trim() && !numberFault(text) ? numberIn(text) : Number.NaN);

const modelsOf = ({ first, second }: Draft): string[] => (second && second !== first ? [first, second] : [first]);

/** The request for a draft without problems. Empty fields are left out, so that the server applies its defaults. */
export function bodyOf(draft: Draft) {
  const limit = draft.limit.trim() ? { limit: numberIn(draft.limit) } : {};
  const models = modelsOf(draft);
  const share = numberIn(draft.goldShare) / 100;
  return {
    ...(draft.name.trim() && { name: draft.name.trim() }),
    kind: draft.kind,
    source:
      draft.from === "dataset"
        ? { type: "dataset" as const, dataset: draft.dataset, rows: draft.rows, ...limit }
        : {
            type: "checkpoints" as const,
            checkpoints: models,
            prompts: draft.prompts,
            ...limit,
            completions: draft.kind === "ranking" ? numberIn(draft.completions) : 2 / models.length,
            temperature: numberIn(draft.temperature),
            ...(draft.maxNewTokens.trim() && { max_new_tokens: numberIn(draft.maxNewTokens) }),
          },
    overlap: numberIn(draft.overlap),
    gold_share: share,
    ...(share > 0 && draft.gold && { gold: draft.gold }),
    instructions: draft.instructions.trim(),
    ...(draft.rewardModel && { reward_model: draft.rewardModel }),
  };
}

/** How much work it is: answers in all, gold questions aside; null while that is open. */
export function answersOf({ limit, overlap }: Draft): number | null {
  const answers = valueOf(limit) * valueOf(overlap);
  return answers > 0 ? answers : null;
}
