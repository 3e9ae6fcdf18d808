import { parseJson } from "@/features/job-form/model/json";
import type { Leaf } from "@/features/job-form/model/schema";
import { isObject, type Json } from "@/features/job-form/model/spec";
import { numberIn } from "@/lib/numbers";

const NONE = "none";

/** The value of a leaf as its input shows it. `readLeaf` reads the same value from it. */
export function leafText(leaf: Leaf, value: Json | undefined): string {
  if (value === undefined) return "";
  if (leaf.kind === "json") return value === null && leaf.nullable ? NONE : JSON.stringify(value, null, 2);
  if (value === null) return NONE;
  if (leaf.kind === "texts" && Array.isArray(value) && value.length > 0 && value.every(isPlain)) {
    const text = value.join(", ");
    return reserved(leaf, text) ? JSON.stringify(value) : text;
  }
  if (leaf.kind === "integers" && Array.isArray(value) && value.every((one) => typeof one === "number"))
    return value.length ? value.join(", ") : "[]";
  if (typeof value === "object") return JSON.stringify(value);
  return leaf.kind === "text" && typeof value === "string" && isQuoted(leaf, value)
    ? JSON.stringify(value)
    : String(value);
}

const isPlain = (one: Json): one is string =>
  typeof one === "string" && one === one.trim() && !/[,\n[]/.test(one) && one !== "";

/** Whether a text means something else than itself. */
const reserved = (leaf: Leaf, text: string): boolean => {
  const trimmed = text.trim();
  return !trimmed || leaf.words.includes(trimmed) || (leaf.nullable && trimmed === NONE);
};

/** Whether a text is shown in quotes: `""` for an empty one, `"none"` where a bare none turns the field off. */
const isQuoted = (leaf: Leaf, text: string): boolean => reserved(leaf, text) || inQuotes(leaf, text) !== undefined;

/** The text in quotes, where they are needed; undefined for any other text, whose quotes belong to it. */
function inQuotes(leaf: Leaf, text: string): string | undefined {
  if (!/^".*"$/s.test(text)) return undefined;
  try {
    const inner: unknown = JSON.parse(text);
    return typeof inner === "string" && isQuoted(leaf, inner) ? inner : undefined;
  } catch {
    return undefined;
  }
}

/** The value that a text stands for; undefined for an empty one, which means the default. Throws an Error with the remedy. */
export function readLeaf(leaf: Leaf, text: string): Json | undefined {
  const trimmed = text.trim();
  if (!trimmed) return undefined;
  if (leaf.nullable && trimmed === NONE) return null;
  if (leaf.words.includes(trimmed)) return trimmed;
  const or = [...leaf.words, ...(leaf.nullable ? [NONE] : [])].map((word) => `, or ${word}`).join("");
  switch (leaf.kind) {
    case "number":
      return numberIn(trimmed, {}, or);
    case "integer":
      return numberIn(trimmed, { integer: true }, or);
    case "boolean":
      return truthIn(trimmed, or);
    case "choice":
      if (!leaf.choices.includes(trimmed)) throw new Error(`Choose ${leaf.choices.join(", ")}${or}.`);
      return trimmed === "true" ? true : trimmed === "false" ? false : trimmed;
    case "texts":
      return textsIn(trimmed);
    case "integers":
      return entriesOf(trimmed.replace(/^\[(.*)\]$/s, "$1").trim()).map((one) => numberIn(one, { integer: true }));
    case "json":
      return parseJson(trimmed);
    case "text":
      return inQuotes(leaf, text) ?? text;
  }
}

function truthIn(text: string, or: string): boolean {
  if (text !== "true" && text !== "false") throw new Error(`Write true or false${or}.`);
  return text === "true";
}

/** A list of texts: with commas, or as JSON. A comma at the end begins no entry. */
function textsIn(text: string): string[] {
  if (text.startsWith("[")) {
    const list = parseJson(text);
    if (Array.isArray(list) && list.every((one): one is string => typeof one === "string")) return list;
    throw new Error('Every entry of the list must be a text in quotes, as ["a", "b"].');
  }
  return entriesOf(text);
}

/** The entries between the commas; none of an empty text. */
function entriesOf(text: string): string[] {
  if (!text) return [];
  const parts = text
    .replace(/,$/, "")
    .split(",")
    .map((one) => one.trim());
  const empty = parts.findIndex((one) => one === "");
  if (empty >= 0) throw new Error(`Entry ${empty + 1} of the list is empty. Write a, b, or remove a comma.`);
  return parts;
}

/** The default in words, for the placeholder. */
export function standardText(leaf: Leaf): string {
  const { standard } = leaf;
  if (standard === undefined || standard === null) return leaf.nullable ? "not set" : "required";
  if (standard === "") return "";
  if (Array.isArray(standard)) return standard.length ? leafText(leaf, standard) : "empty";
  return isObject(standard) ? "{}" : String(standard);
}
