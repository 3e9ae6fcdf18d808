import type { Mapping } from "@/api/imports";
import { SHAPES, type Shape } from "@/features/datasets/preview/shapes";

export interface Column {
  readonly name: string;
  readonly examples: readonly string[];
}

export type Side = "a" | "b" | "tie";

export type Labels = Readonly<Record<string, Side | null>>;

/** A mapping while it is being filled in. */
export interface Draft {
  readonly shape: Shape;
  /** The column of each field; a field that is missing has none. */
  readonly fields: Readonly<Record<string, string>>;
  /** What each value of the label's column means; null: a record with it cannot be used. */
  readonly labels: Labels;
}

/** The draft of a mapping that is there already, or that the columns' names suggest. */
export function fromMapping(mapping: Mapping | null, columns: readonly Column[]): Draft {
  const fields = mapping?.fields ?? {};
  const drafts = SHAPES.map((shape) => ({ shape, fields, labels: {} }));
  const best = drafts.reduce((one, other) => (merit(other) > merit(one) ? other : one));
  const labels = { ...labelsOf(fields.label, columns), ...(mapping?.labels as Labels | undefined) };
  return { ...best, labels };
}

/** How well the shape suits the fields: what it needs and they have, less what it lacks. */
function merit({ shape, fields }: Draft): number {
  const wanted = shape.fields.filter((field) => field.required);
  const found = wanted.filter((field) => field.name in fields).length;
  return found ? 2 * found - wanted.length : -Infinity;
}

/** Another shape, with the columns that the fields of the same name had. */
export function withShape(draft: Draft, shape: Shape, columns: readonly Column[]): Draft {
  const named = new Map(columns.map((column) => [lastPart(column.name), column.name]));
  const fields: Record<string, string> = {};
  for (const { name } of shape.fields) {
    const column = draft.fields[name] ?? named.get(name);
    if (column) fields[name] = column;
  }
  return {
    shape,
    fields,
    labels: fields.label === draft.fields.label ? draft.labels : labelsOf(fields.label, columns),
  };
}

/** The draft with another column for a field; no column takes the field away. */
export function withField(draft: Draft, name: string, column: string, columns: readonly Column[]): Draft {
  const others = Object.entries(draft.fields).filter(([field]) => field !== name);
  const fields = Object.fromEntries(column ? [...others, [name, column]] : others);
  return { ...draft, fields, labels: name === "label" ? labelsOf(column, columns) : draft.labels };
}

/** The required fields that no column was given for, as the form calls them. */
export const missing = (draft: Draft): string[] =>
  draft.shape.fields.filter((field) => field.required && !draft.fields[field.name]).map((field) => field.label);

/** As the API takes it: only what the shape knows. */
export function toMapping({ shape, fields, labels }: Draft): Mapping {
  const names = new Set(shape.fields.map((field) => field.name));
  const known = Object.fromEntries(Object.entries(fields).filter(([name]) => names.has(name)));
  if (!("label" in known)) return { fields: known };
  const said = Object.entries(labels).flatMap(([value, side]) => (side === null ? [] : [[value, side] as const]));
  return { fields: known, labels: Object.fromEntries(said) };
}

function labelsOf(column: string | undefined, columns: readonly Column[]): Labels {
  const examples = columns.find((one) => one.name === column)?.examples ?? [];
  const isBelowZero = (text: string) => Number(text) < 0;
  const said = examples.some(isBelowZero) ? bySign : examples.some((text) => text.trim() === "0") ? byIndex : meaning;
  return Object.fromEntries(examples.map((text) => [text, said(text)] as const));
}

/** Below zero the first one wins, above it the second, as in HelpSteer 3. */
const bySign = (text: string): Side => (Number(text) === 0 ? "tie" : Number(text) < 0 ? "a" : "b");

/** Counted from 0. */
const byIndex = (text: string): Side | null =>
  (({ "0": "a", "1": "b" })[text.trim()] as Side | undefined) ?? meaning(text);

const MEANINGS: readonly (readonly [Side, RegExp])[] = [
  ["tie", /tie|equal|both|neither|same|draw|^=+$/],
  ["a", /(^|[^a-z0-9])(a|1|first|left|true)$/],
  ["b", /(^|[^a-z0-9])(b|2|second|right|false)$/],
];

/** What a label's value most likely says; null where only a person can tell. */
function meaning(text: string): Side | null {
  const value = text.trim().toLowerCase();
  return MEANINGS.find(([, words]) => words.test(value))?.[0] ?? null;
}

const lastPart = (path: string): string => (path.split(".").at(-1) ?? path).toLowerCase();
