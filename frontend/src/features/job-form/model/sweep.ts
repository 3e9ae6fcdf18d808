import type { Sweep } from "@/features/job-form/api";
import type { Leaf } from "@/features/job-form/model/schema";
import { parseJson } from "@/features/job-form/model/json";
import { leafText, readLeaf } from "@/features/job-form/model/leaf";
import { type Json, type JsonObject, same } from "@/features/job-form/model/spec";
import { numberFault, numberIn } from "@/lib/numbers";

type Parameter = Json[] | { distribution: "uniform" | "log_uniform" | "int"; min: number; max: number };

/** The fields that differ between the jobs of a sweep: path → the text that the person wrote. */
export type Variations = Readonly<Record<string, string>>;

const RANGE = /^(\S+)\s*(?:\.\.\.?|…| to )\s*(\S+)(\s+log)?$/;

/**
 * The values of a field: `1e-6, 1e-5` and `["a, b", "c"]` are lists, and `1e-6 to 1e-4` is a random range; `log` draws its
 * logarithm evenly.
 * Throws an Error with the remedy.
 */
export function readVariation(leaf: Leaf, text: string): Parameter {
  const range = RANGE.exec(text.trim());
  const isNumber = leaf.kind === "number" || leaf.kind === "integer";
  if (range && isNumber) {
    const rules = { integer: leaf.kind === "integer" };
    const [min, max] = [numberIn(range[1] ?? "", rules), numberIn(range[2] ?? "", rules)];
    if (min >= max) throw new Error("Write a range as 1e-6 to 1e-4: the smaller number first.");
    if (leaf.kind === "integer") return { distribution: "int", min, max };
    if (range[3] && min <= 0) throw new Error("A range with log must be above 0.");
    return { distribution: range[3] ? "log_uniform" : "uniform", min, max };
  }
  if (text.trim().startsWith("[")) return listedValues(leaf, parseJson(text));
  const parts = text
    .replace(/,\s*$/, "")
    .split(",")
    .map((one) => one.trim());
  const empty = parts.indexOf("");
  if (parts.length === 1 && empty === 0)
    throw new Error(isNumber ? "Write values as 1, 2, 3, or a range as 1 to 3." : "Write values as a, b.");
  if (empty >= 0) throw new Error(`Value ${empty + 1} is empty. Write a, b, or remove a comma.`);
  return parts.map((one) => readLeaf(leaf, one) ?? null);
}

/** The values of a JSON list, which may hold commas and lists. Throws an Error for one that the field does not take. */
function listedValues(leaf: Leaf, list: Json): Json[] {
  if (!Array.isArray(list) || !list.length) throw new Error('Write at least one value, as ["a", "b"].');
  for (const value of list)
    if (!same(readLeaf(leaf, leafText(leaf, value)), value))
      throw new Error(`${JSON.stringify(value)} is no value of this field. Write it as in the field itself.`);
  return list;
}

/** One value as the text of a variation. */
export function variationText(leaf: Leaf, value: Json | undefined): string {
  const text = leafText(leaf, value);
  return value !== undefined && /,|^\s*\[/.test(text) ? JSON.stringify([value]) : text;
}

export interface SweepPlan {
  readonly parameters: Record<string, Parameter>;
  /** The variations that cannot be read, by path. */
  readonly faults: Record<string, { readonly fault: string }>;
  /** Number of jobs; null while a range has no number of draws. */
  readonly jobs: number | null;
  readonly isRandom: boolean;
}

/** The parameters of a sweep, and its number of jobs. `count`: combinations to draw; null for all of a grid. */
export function sweepOf(variations: Variations, byPath: ReadonlyMap<string, Leaf>, count: number | null): SweepPlan {
  const parameters: Record<string, Parameter> = {};
  const faults: Record<string, { fault: string }> = {};
  for (const [path, text] of Object.entries(variations)) {
    const leaf = byPath.get(path);
    if (!leaf) {
      faults[path] = { fault: "The form has no such field. Make a sweep of other fields, or discard this one." };
      continue;
    }
    try {
      parameters[path] = readVariation(leaf, text);
    } catch (error) {
      faults[path] = { fault: error instanceof Error ? error.message : String(error) };
    }
  }
  const all = Object.values(parameters);
  const isRandom = all.some((one) => !Array.isArray(one));
  const grid = all.reduce((product, one) => product * (Array.isArray(one) ? one.length : 1), 1);
  return { parameters, faults, isRandom, jobs: count ?? (isRandom ? null : grid) };
}

/** The texts of the card of a sweep. */
export interface SweepOptions {
  readonly count: string;
  readonly seed: string;
  readonly parallel: string;
  readonly metric: string;
  readonly goal: Sweep["goal"];
}

export const NO_OPTIONS: SweepOptions = {
  count: "",
  seed: "0",
  parallel: "",
  metric: "objective/scores",
  goal: "maximize",
};

/** The bounds of the numbers of the card. */
export const OPTION_RULES = {
  count: { integer: true, min: 1 },
  seed: { integer: true, min: 0, max: 2 ** 32 - 1 },
  parallel: { integer: true, min: 1 },
} as const;

/** The options that cannot be read, as `sweep.count`. */
export function faultsOf(options: SweepOptions): Record<string, { readonly fault: string }> {
  const names = ["count", "seed", "parallel"] as const;
  const found = names.map(
    (name) => [`sweep.${name}`, { fault: numberFault(options[name], OPTION_RULES[name]) }] as const,
  );
  return Object.fromEntries(found.filter(([, { fault }]) => fault));
}

/** The number of an option; null for an empty one, and for one that cannot be read. */
const optionIn = (options: SweepOptions, name: keyof typeof OPTION_RULES): number | null => {
  const text = options[name];
  return text.trim() && !numberFault(text, OPTION_RULES[name]) ? numberIn(text) : null;
};

/** The number of combinations to draw; null for all. */
export const drawsOf = (options: SweepOptions): number | null => optionIn(options, "count");

/** The sweep that the server gets; null while the plan cannot be sent. */
export function sweepSpec(plan: SweepPlan, spec: JsonObject, options: SweepOptions): Sweep | null {
  const { parameters, faults, jobs } = plan;
  if (!Object.keys(parameters).length || jobs === null || Object.keys(faults).length) return null;
  if (Object.keys(faultsOf(options)).length) return null;
  return {
    name: typeof spec.name === "string" ? spec.name : "",
    spec,
    parameters,
    count: drawsOf(options),
    seed: optionIn(options, "seed") ?? 0,
    max_parallel: optionIn(options, "parallel"),
    metric: options.metric || NO_OPTIONS.metric,
    goal: options.goal,
  };
}
