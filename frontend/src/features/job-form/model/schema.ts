import { isNull, isObject, type Json, type JsonObject, same, valueAt } from "@/features/job-form/model/spec";

type LeafKind = "text" | "number" | "integer" | "boolean" | "choice" | "texts" | "integers" | "json";

interface Named {
  readonly path: string;
  readonly label: string;
  /** The docstring of the field. */
  readonly help: string;
  /** `main`: always shown. `own`: shown by a widget of its own. Otherwise it is shown on request. */
  readonly place: string;
}

/** A single value. */
export interface Leaf extends Named {
  readonly type: "leaf";
  readonly kind: LeafKind;
  readonly standard: Json | undefined;
  readonly choices: readonly string[];
  /** Words that are allowed in place of a number, such as `auto`. */
  readonly words: readonly string[];
  readonly nullable: boolean;
  readonly bounds: string;
}

/** A section of fields. An optional one is null unless it is turned on. */
export interface Group extends Named {
  readonly type: "group";
  readonly optional: boolean;
  readonly fields: readonly Field[];
}

/** One of several sections, chosen by its `type`, or (`list`) any number of them. */
export interface Variants extends Named {
  readonly type: "variants";
  readonly list: boolean;
  readonly options: readonly { readonly name: string; readonly help: string; readonly schema: JsonObject }[];
}

export type Field = Leaf | Group | Variants;

/** Reads the JSON schema of a job spec as fields. */
export function fieldsOf(root: JsonObject, schema: JsonObject = root, prefix = "", defaults?: Json): Field[] {
  const properties = isObject(schema.properties) ? schema.properties : {};
  return Object.entries(properties)
    .filter(([name]) => !(prefix && name === "type" && isObject(properties[name]) && "const" in properties[name]))
    .map(([name, property]) => {
      const inherited = isObject(defaults) ? defaults[name] : undefined;
      return fieldOf(root, property as JsonObject, prefix ? `${prefix}.${name}` : name, name, inherited);
    });
}

function fieldOf(root: JsonObject, property: JsonObject, path: string, name: string, inherited?: Json): Field {
  const place = "x-dataset" in property ? "own" : text(property["x-form"]);
  const named = { path, label: labelOf(name), help: text(property.description), place };
  const standard = inherited ?? property.default;
  const alternatives = listOf(property.anyOf).map((one) => resolved(root, one));
  const nullable = alternatives.some(({ type }) => type === "null");
  const real = alternatives.filter(({ type }) => type !== "null");
  const own = resolved(root, property);
  const variants = [own, ...real, isObject(own.items) ? own.items : {}].find((one) => Array.isArray(one.oneOf));
  if (variants) return { type: "variants", ...named, list: own.type === "array", options: optionsOf(root, variants) };
  const [first = own, ...others] = real;
  const section = real.length ? first : own;
  if (others.length === 0 && isObject(section.properties)) {
    const fields = fieldsOf(root, section, path, standard);
    return { type: "group", ...named, optional: nullable, fields };
  }
  return leaf(named, real.length ? real : [own], standard, nullable);
}

function leaf(named: Named, schemas: readonly JsonObject[], standard: Json | undefined, nullable: boolean): Leaf {
  const words = schemas.filter((one) => "const" in one).map((one) => text(one.const));
  const [main = {}] = schemas.filter((one) => !("const" in one));
  const choices = listOf(main.enum).map(text);
  const isSwitch = main.type === "boolean" && words.length > 0;
  return {
    type: "leaf",
    ...named,
    kind: isSwitch ? "choice" : choices.length ? "choice" : kindOf(main),
    standard,
    choices: isSwitch ? [...words, "true", "false"] : choices,
    words: isSwitch ? [] : words,
    nullable,
    bounds: boundsOf(main),
  };
}

function kindOf(schema: JsonObject): LeafKind {
  if (schema.type === "integer" || schema.type === "number" || schema.type === "boolean") return schema.type;
  if (schema.type === "string") return "text";
  const items = schema.type === "array" && isObject(schema.items) ? schema.items.type : "";
  return items === "string" ? "texts" : items === "integer" ? "integers" : "json";
}

function boundsOf(schema: JsonObject): string {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum } = schema;
  const low = minimum === undefined ? exclusiveMinimum : minimum;
  const high = maximum === undefined ? exclusiveMaximum : maximum;
  const lower = low === undefined ? "" : `${minimum === undefined ? "above" : "at least"} ${text(low)}`;
  const upper = high === undefined ? "" : `${maximum === undefined ? "below" : "at most"} ${text(high)}`;
  return [lower, upper].filter(Boolean).join(" and ");
}

function optionsOf(root: JsonObject, schema: JsonObject): Variants["options"] {
  return listOf(schema.oneOf).map((one) => {
    const option = resolved(root, one);
    return { name: text(valueAt(option, "properties.type.const")), help: text(option.description), schema: option };
  });
}

function resolved(root: JsonObject, schema: Json): JsonObject {
  if (!isObject(schema)) return {};
  if (typeof schema.$ref !== "string") return schema;
  const found = valueAt(root, schema.$ref.replace("#/", "").replaceAll("/", "."));
  return isObject(found) ? found : {};
}

const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);
const text = (value: Json | undefined): string =>
  typeof value === "string" ? value : value == null ? "" : JSON.stringify(value);

const WORDS: Record<string, string> = {
  kl: "KL", ppo: "PPO", sft: "SFT", dpo: "DPO", kto: "KTO", lr: "Learning rate", lora: "LoRA", gae: "GAE", eos: "EOS",
  ema: "EMA", ptx: "PTX", gib: "GiB", gpu: "GPU", tf32: "TF32", url: "URL", wandb: "Weights & Biases",
  mlflow: "MLflow", tensorboard: "TensorBoard",
}; // prettier-ignore

/** `max_new_tokens` → "Max new tokens". */
export function labelOf(name: string): string {
  const words = name.split("_").map((word) => WORDS[word] ?? word);
  const joined = words.map((word, index) => (index && word === "Learning rate" ? "learning rate" : word)).join(" ");
  return joined.charAt(0).toUpperCase() + joined.slice(1);
}

/** Every leaf below the fields, optional sections included. */
export const leaves = (fields: readonly Field[]): Leaf[] =>
  fields.flatMap((field) => (field.type === "leaf" ? [field] : field.type === "group" ? leaves(field.fields) : []));

/** The default of a path: of a leaf, or null for an optional section. */
export function defaultsOf(fields: readonly Field[]): (path: string) => Json | undefined {
  const byPath = new Map<string, Json | undefined>();
  const walk = (list: readonly Field[]) => {
    for (const field of list) {
      byPath.set(field.path, defaultOf(field));
      if (field.type === "group") walk(field.fields);
    }
  };
  walk(fields);
  return (path) => byPath.get(path);
}

/**
 * The spec without the fields that have their default, and with null in place of its notation. An optional section that is on
 * stays, even if it is empty. A name that is no field stays as it is, for the server to refuse.
 */
export function withoutDefaults(spec: JsonObject, fields: readonly Field[]): JsonObject {
  const byName = new Map(fields.map((field) => [field.path.slice(field.path.lastIndexOf(".") + 1), field]));
  const kept = Object.entries(spec).flatMap(([name, given]) => {
    const field = byName.get(name);
    const value = field && isNull(given) ? null : given;
    if (!field) return [[name, value] as const];
    const isSection = field.type === "group" && isObject(value);
    const inner = isSection ? withoutDefaults(value, field.fields) : value;
    if (isSection && !field.optional && same(inner, {})) return [];
    return same(inner, defaultOf(field)) ? [] : [[name, inner] as const];
  });
  return Object.fromEntries(kept);
}

/** The default of a field; undefined for a section that is always on. */
function defaultOf(field: Field): Json | undefined {
  if (field.type === "variants") return field.list ? [] : null;
  if (field.type === "group") return field.optional ? null : undefined;
  return field.standard ?? (field.nullable ? null : undefined);
}

/** The sections that are null unless they are turned on. */
export const optionalPaths = (fields: readonly Field[]): ReadonlySet<string> => new Set(optionals(fields));

const optionals = (fields: readonly Field[]): string[] =>
  fields.flatMap((field) =>
    field.type === "group" ? [...(field.optional ? [field.path] : []), ...optionals(field.fields)] : [],
  );

/** The first sentence of a description. The full stop of "et al. 2020" ends none. */
export const firstSentence = (text: string): string => text.split(/(?<=\.)\s(?=[^\d\s])/, 1)[0] ?? "";
