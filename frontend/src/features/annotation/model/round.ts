import { stageShort } from "@/lib/states";

/** The fields of a round that matter here. */
interface AnyRound {
  readonly kind: string;
  readonly status: string;
  readonly items: number;
  readonly answers: number;
  readonly answers_wanted: number;
  readonly source:
    | { readonly type: "dataset"; readonly dataset: string; readonly rows: string }
    | {
        readonly type: "checkpoints";
        readonly checkpoints: readonly string[];
        readonly prompts: string;
        readonly completions: number;
      };
}

interface AnyPolicy {
  readonly model: string | null;
  readonly stage: string | null;
  readonly step: number | null;
  readonly seed: number | null;
}

/** A policy within its job, as `PPO, step 40, seed 1`; a model that is no checkpoint by its path. */
export function policyName({ model, stage, step, seed }: AnyPolicy): string {
  if (stage === null) return model ?? "a model";
  return [stageShort(stage), step !== null && `step ${step}`, seed !== null && `seed ${seed}`]
    .filter(Boolean)
    .join(", ");
}

/** A dataset's id without its version or pin. */
export const bareDataset = (reference: string): string => reference.split("@")[0] ?? reference;

/** The number of a version in "ds_…@2"; null where there is none, or a pin by hash. */
export function versionOf(reference: string): number | null {
  const number = /@(\d+)$/.exec(reference)?.[1];
  return number === undefined ? null : Number(number);
}

/** A short description of the compared answers. */
export function sourceInWords({ kind, source }: AnyRound): string {
  if (source.type === "dataset") {
    const what = kind === "ranking" ? "Rankings" : "Pairs";
    return source.rows === "unlabelled" ? `Unlabelled ${what.toLowerCase()} of a dataset` : `${what} of a dataset`;
  }
  const models = new Set(source.checkpoints).size;
  const each = source.completions > 1 ? `, ${source.completions} completions of each` : "";
  return models === 1 ? `One checkpoint, ${source.completions} completions` : `${models} checkpoints${each}`;
}

/** Share of the wanted answers that exist, 0 to 1. */
export const shareAnswered = ({ answers, answers_wanted: wanted }: AnyRound): number =>
  wanted > 0 ? Math.min(1, answers / wanted) : 0;

const MOVING = new Set(["preparing", "closing"]);

/** Whether the server is at work on it, so that it looks different soon. */
export const isMoving = ({ status }: { readonly status: string }): boolean => MOVING.has(status);

const LONGEST = 60;

/** An annotator's name as it is stored: null for what is none. */
export function asName(typed: string | null): string | null {
  const name = (typed ?? "")
    .replaceAll(/[\s\p{Cc}\p{Cs}]+/gu, " ")
    .trim()
    .slice(0, LONGEST)
    .trim();
  return name || null;
}
