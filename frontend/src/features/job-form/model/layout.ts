import type { Field } from "@/features/job-form/model/schema";
import { isObject, type Json, type JsonObject, valueAt } from "@/features/job-form/model/spec";
import { DATASET_KINDS } from "@/lib/api/fields.gen";
import { asStage, STAGES, type Stage, stageLabel } from "@/lib/states";

export interface Section {
  readonly id: string;
  readonly title: string;
  readonly main: readonly Field[];
  /** Shown on request. */
  readonly rare: readonly Field[];
}

const TITLES: Record<string, string> = {
  model: "Model",
  data: "Data",
  rewards: "Rewards",
  health: "Health rules",
  machine: "Machine, seeds and tracking",
};

/** The sections of a job with these stages, in the order of the run. */
export function sectionsOf(fields: readonly Field[], stages: readonly string[]): Section[] {
  const order = ["model", "data", ...STAGES.filter((stage) => stages.includes(stage)), "health", "machine"];
  if (stages.includes("ppo")) order.splice(order.indexOf("ppo"), 0, "rewards");
  const wanted = order.filter((id) => id !== "health" || stages.includes("ppo"));
  return wanted.map((id) => {
    const [main, rare] = split(id === "machine" ? machineFields(fields) : fields.filter(({ path }) => path === id));
    return { id, title: TITLES[id] ?? stageLabel(id), main, rare };
  });
}

/** The fields without a section of their own, single values first. */
function machineFields(fields: readonly Field[]): Field[] {
  const rest = fields.filter(({ path }) => !(path in TITLES) && !asStage(path));
  return [...rest.filter(({ type }) => type !== "group"), ...rest.filter(({ type }) => type === "group")];
}

/** Main fields, and the rest without them. */
function split(fields: readonly Field[]): [Field[], Field[]] {
  const main: Field[] = [];
  const rare: Field[] = [];
  for (const field of fields) {
    if (field.place === "main") main.push(field);
    else if (field.place === "own") continue;
    else if (field.type === "group" && !field.optional) {
      const [inner, rest] = split(field.fields);
      main.push(...inner.map((one) => (field.path.includes(".") ? titled(one, field.label) : one)));
      if (field.path.includes(".") && rest.length) rare.push({ ...field, fields: rest });
      else rare.push(...rest);
    } else rare.push(field);
  }
  return [main, rare];
}

/** A field outside of its section carries the name of the section: "KL coef". */
const titled = (field: Field, section: string): Field => {
  const [first = "", second = ""] = field.label;
  const isWord = second === second.toLowerCase();
  return { ...field, label: `${section} ${isWord ? first.toLowerCase() : first}${field.label.slice(1)}` };
};

/** Whether a path is that of one of the fields, or below one. */
export const holds = (fields: readonly Field[], path: string): boolean =>
  fields.some(
    (field) =>
      field.path === path || (field.type === "group" ? holds(field.fields, path) : path.startsWith(`${field.path}.`)),
  );

/** The fields whose name or description contains every word of a search. */
export function found(fields: readonly Field[], search: string): Field[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return fields.flatMap((field): Field[] => {
    if (field.place === "own") return [];
    if (field.type === "group" && !field.optional) {
      const inner = found(field.fields, search);
      return field.path.includes(".") ? inner.map((one) => titled(one, field.label)) : inner;
    }
    const text = `${field.path} ${field.label} ${field.help}`.toLowerCase();
    return words.every((word) => text.includes(word)) ? [field] : [];
  });
}

/** A field of `data` that names a dataset. */
export type Role = keyof typeof DATASET_KINDS;

const ROLES = Object.keys(DATASET_KINDS) as Role[];

/** The stages that use a role. */
const USERS: Readonly<Record<Role, readonly Stage[]>> = {
  preferences: ["sft", "reward_model", "dpo", "ppo", "evaluation"],
  thumbs: ["kto"],
  steps: [],
  sft: ["sft"],
  prompts: ["ppo"],
  evaluation_prompts: ["evaluation", "ppo"],
  pretraining: [],
};

/** The datasets that a job with these stages can name; `pretraining` with PTX, `steps` with their loss, and any that is set. */
export const rolesOf = (spec: JsonObject, stages: readonly string[]): Role[] =>
  ROLES.filter(
    (role) =>
      USERS[role].some((stage) => stages.includes(stage)) ||
      isSet(valueAt(spec, `data.${role}`)) ||
      (role === "pretraining" && isObject(valueAt(spec, "ppo.ptx"))) ||
      (role === "steps" && stages.includes("reward_model") && valueAt(spec, "reward_model.loss") === "stepwise"),
  );

const isSet = (value: Json | undefined): boolean => value !== undefined && value !== null;

/** The roles that hold examples for a stage. The others only add to them. */
const SOURCES: readonly Role[] = ["preferences", "thumbs", "steps", "sft", "prompts"];

export const hasDataset = (spec: JsonObject): boolean => SOURCES.some((role) => isSet(valueAt(spec, `data.${role}`)));

/** The stages of a spec in their order. */
export function stagesIn(spec: JsonObject): Stage[] {
  const listed = Array.isArray(spec.stages) ? spec.stages : ["sft", "reward_model", "ppo", "evaluation"];
  return STAGES.filter((stage) => listed.includes(stage));
}
