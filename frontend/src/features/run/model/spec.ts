import type { Job } from "@/lib/api/types";
import { type Stage, STAGES, stageShort } from "@/lib/states";

/** The fields of a stored spec that matter here. A spec of an older version may lack any of them. */
interface AnySpec {
  readonly stages?: readonly string[] | undefined;
  readonly sft?: unknown;
  readonly seed?: number | undefined;
  readonly seeds?: number | undefined;
  readonly resources?: { readonly processes: number; readonly machines: number } | undefined;
  readonly ppo?:
    | {
        readonly advantage?: { readonly estimator?: string | undefined } | undefined;
        readonly log_samples?: number | undefined;
      }
    | undefined;
  readonly evaluation?: { readonly against?: string | null | undefined; readonly judge?: unknown } | undefined;
}

/** The stages of a job in order. Before they were listed, only SFT could be left out, by `null`. */
export function stagesOf(spec: AnySpec): Stage[] {
  const listed = spec.stages;
  if (!listed)
    return STAGES.filter((stage) => stage !== "dpo" && stage !== "kto" && !(stage === "sft" && spec.sft === null));
  return STAGES.filter((stage) => listed.includes(stage));
}

export interface Sides {
  readonly before: string;
  readonly after: string;
}

/** Stages whose checkpoints are policies. */
export const POLICY_STAGES: readonly Stage[] = ["sft", "dpo", "kto", "ppo"];

/** The two policies that the evaluation compares: the last one that the job trained, and the one before it, or `against`. */
export function sidesOf(spec: AnySpec, inputs: Job["inputs"] = []): Sides {
  const trained = stagesOf(spec).filter((stage) => POLICY_STAGES.includes(stage));
  const [after, before] = [trained.at(-1), trained.at(-2)];
  const against = spec.evaluation?.against;
  return {
    before: against
      ? (inputs.find(({ field }) => field === "evaluation.against")?.name ?? shortName(against))
      : before
        ? stageShort(before)
        : "Start",
    after: after ? stageShort(after) : "Model",
  };
}

/** The first and the last seed of a job: the same, where it has one. */
export function seedsOf(spec: AnySpec): [number, number] {
  const first = spec.seed ?? 0;
  return [first, first + (spec.seeds ?? 1) - 1];
}

/** How many processes share the work, where it is more than one. */
export function processesOf(spec: AnySpec): string | null {
  const { processes, machines } = spec.resources ?? { processes: 1, machines: 1 };
  if (machines > 1) return `${processes} on each of ${machines} machines`;
  return processes > 1 ? String(processes) : null;
}

/** Whether PPO has a critic; that of an older version always has one. */
export const hasCritic = (spec: AnySpec): boolean => (spec.ppo?.advantage?.estimator ?? "gae") === "gae";

/** Completions of each batch that PPO logs. */
export const loggedSamples = (spec: AnySpec): number => spec.ppo?.log_samples ?? 0;

export const hasJudge = (spec: AnySpec): boolean => Boolean(spec.evaluation?.judge);

/** The last part of a path; of a checkpoint's id, its beginning. */
function shortName(path: string): string {
  const name = path.split("/").filter(Boolean).at(-1) ?? path;
  return /^ckpt_\w{10,}$/.test(name) ? `${name.slice(0, 11)}…` : name;
}

/** A command that submits `spec` again. The key comes from the environment, never from the page. */
export function submitCommand(origin: string, spec: unknown): string {
  const body = JSON.stringify(spec, null, 2).replaceAll("'", "'\\''");
  return [
    `curl ${origin}/v1/jobs \\`,
    `  -H "Authorization: Bearer $PROXIMAL_API_KEY" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${body}'`,
  ].join("\n");
}
