import type { Leaf } from "@/features/job-form/model/schema";
import { isObject, type Json } from "@/features/job-form/model/spec";

const NONE = "none";

/** The value of a leaf as its input shows it. */
export function leafText(leaf: Leaf, value: Json | undefined): string {
  if (value === undefined) return "";
  if (value === null) return NONE;
  if (
    leaf.kind === "texts" &&
    Array.isArray(value) &&
    value.every((one): one is string => typeof one === "string" && plain(one))
  )
    return value.join(", ");
  if (typeof value === "object") return JSON.stringify(value, null, leaf.kind === "json" ? 2 : undefined);
  return String(value);
}

const plain = (one: string): boolean => one === one.trim() && !/[,\n[]/.test(one) && one !== "";

/** The value that a text stands for; undefined for an empty one, which means the default. Throws an Error with the remedy. */
export function readLeaf(leaf: Leaf, text: string): Json | undefined {
  const trimmed = text.trim();
  if (!trimmed) return undefined;
  if (leaf.nullable && trimmed === NONE) return null;
  if (leaf.words.includes(trimmed)) return trimmed;
  switch (leaf.kind) {
    case "number":
    case "integer":
      return readNumber(leaf, trimmed);
    case "boolean":
      return trimmed === "true";
    case "choice":
      return trimmed === "true" ? true : trimmed === "false" ? false : trimmed;
    case "texts":
      return trimmed.startsWith("[")
        ? readJson(trimmed)
        : trimmed
            .split(",")
            .map((one) => one.trim())
            .filter(Boolean);
    case "json":
      return readJson(trimmed);
    case "text":
      return text;
  }
}

function readNumber(leaf: Leaf, text: string): number {
  const value = Number(text.replaceAll("_", "").replace("−", "-"));
  const words = [...leaf.words, ...(leaf.nullable ? [NONE] : [])];
  const others = words.length ? `, or ${words.join(" or ")}` : "";
  if (!Number.isFinite(value)) throw new Error(`Enter a number${others}.`);
  if (leaf.kind === "integer" && !Number.isInteger(value)) throw new Error(`Enter a whole number${others}.`);
  return value;
}

function readJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new Error(`This is not valid JSON: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** The default in words, for the placeholder. */
export function standardText(leaf: Leaf): string {
  const { standard } = leaf;
  if (standard === undefined || standard === null) return leaf.nullable ? "not set" : "required";
  if (standard === "") return "";
  if (Array.isArray(standard)) return standard.length ? leafText(leaf, standard) : "empty";
  return isObject(standard) ? "{}" : String(standard);
}
