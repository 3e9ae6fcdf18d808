import type { Mapping } from "@/features/datasets/api/imports";
import { guessLabels, type Labels } from "@/features/datasets/model/labels";
import { type Shape, SHAPES } from "@/features/datasets/model/shapes";

/** Fields whose column holds a verdict in words or marks. */
const VERDICTS = ["label", "thumb", "score"] as const;

interface Column {
  readonly name: string;
  readonly examples: readonly string[];
}

/** A mapping while it is being filled in. */
export interface Draft {
  readonly shape: Shape;
  /** The column of each field; a field that is missing has none. */
  readonly fields: Readonly<Record<string, string>>;
  /** The meaning of the verdict's values. A value that is missing is read as the word that it is. */
  readonly labels: Labels;
}

/** The draft of a mapping that is there already, or that the columns' names suggest. */
export function fromMapping(mapping: Mapping | null, columns: readonly Column[]): Draft {
  const fields = mapping?.fields ?? {};
  const drafts = SHAPES.map((shape) => ({ shape, fields, labels: {} }));
  const best = drafts.reduce((first, second) => (fit(second) > fit(first) ? second : first));
  const labels = { ...labelsOf(fields, columns), ...(mapping?.labels as Labels | undefined) };
  return { ...best, labels };
}

/**
 * How well a shape fits the fields. Required fields that are there count 1, and -1 if they are missing. A field that the shape
 * does not have counts -1. Without any required field the result is -Infinity.
 */
function fit({ shape, fields }: Draft): number {
  const required = shape.fields.filter((field) => field.required);
  const present = required.filter((field) => field.name in fields).length;
  const unused = Object.keys(fields).filter((name) => !shape.fields.some((field) => field.name === name));
  return present ? 2 * present - required.length - unused.length : -Infinity;
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
    labels: relabelled(draft, fields, columns),
  };
}

/** The draft with another column for a field; no column takes the field away. */
export function withField(draft: Draft, name: string, column: string, columns: readonly Column[]): Draft {
  const others = Object.entries(draft.fields).filter(([field]) => field !== name);
  const fields = Object.fromEntries(column ? [...others, [name, column]] : others);
  return { ...draft, fields, labels: relabelled(draft, fields, columns) };
}

/**
 * The labels under other columns. The names of the sides' columns may state what a value means, so a value that still means
 * what the former columns stated follows the new ones. Other choices of the user stay.
 */
function relabelled(draft: Draft, fields: Draft["fields"], columns: readonly Column[]): Labels {
  const now = labelsOf(fields, columns);
  if (VERDICTS.some((name) => fields[name] !== draft.fields[name])) return now;
  const before = labelsOf(draft.fields, columns);
  const kept = Object.entries(draft.labels).filter(([value, side]) => !(value in now) || side !== before[value]);
  return { ...now, ...Object.fromEntries(kept) };
}

/** The labels of the required fields without a column. */
export const missingFields = (draft: Draft): string[] =>
  draft.shape.fields.filter((field) => field.required && !draft.fields[field.name]).map((field) => field.label);

/** The choice that is missing before records can be read this way; null when the mapping is complete. */
export function missingChoice(draft: Draft): string | null {
  const fields = missingFields(draft);
  if (fields.length) return `Choose the column of: ${fields.join(", ")}.`;
  const column = verdictColumn(draft);
  const meanings = column ? Object.values(draft.labels) : [];
  return meanings.length && meanings.every((meaning) => meaning === null)
    ? `Choose the meaning of the values of ${column}.`
    : null;
}

/** The column whose values have a meaning that the user may choose; undefined for a shape without one. */
export function verdictColumn({ shape, fields }: Draft): string | undefined {
  const name = VERDICTS.find((verdict) => shape.fields.some((field) => field.name === verdict));
  return name && fields[name];
}

/** The mapping for the API, with the fields of the chosen shape only. */
export function toMapping({ shape, fields, labels }: Draft): Mapping {
  const names = new Set(shape.fields.map((field) => field.name));
  const known = Object.fromEntries(Object.entries(fields).filter(([name]) => names.has(name)));
  const isJudged = "label" in known || (verdictColumn({ shape, fields, labels }) && Object.keys(labels).length > 0);
  return isJudged ? { fields: known, labels } : { fields: known };
}

const labelsOf = (fields: Draft["fields"], columns: readonly Column[]): Labels =>
  guessLabels(columns.find((column) => column.name === fields.label)?.examples ?? [], fields);

const lastPart = (path: string): string => (path.split(".").at(-1) ?? path).toLowerCase();
