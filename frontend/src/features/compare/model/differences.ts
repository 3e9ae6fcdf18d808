import { useMemo } from "react";
import type { Job } from "@/lib/api/types";
import { fieldName, jobName, type Named, type ShortName, shortNames, shortValue } from "@/lib/names";

/** A field in which the runs differ, with a text for each run. */
export interface Difference {
  readonly path: string;
  readonly values: readonly string[];
}

const NOT_SET = "not set";

/** The fields of a spec as texts, by their paths. A list is one value. */
export function flattened(spec: object, prefix = ""): Map<string, string> {
  const fields = new Map<string, string>();
  for (const [name, value] of Object.entries(spec) as [string, unknown][]) {
    const path = prefix + name;
    if (isGroup(value)) for (const [below, text] of flattened(value, `${path}.`)) fields.set(below, text);
    else if (value !== null && value !== undefined) fields.set(path, textOf(value));
  }
  return fields;
}

const isGroup = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** The fields that are not the same in all specs, in the order of the first spec that has them. A null is not set. */
export function differences(specs: readonly object[]): Difference[] {
  const flat = specs.map((spec) => flattened(spec));
  const paths = new Set(flat.flatMap((fields) => [...fields.keys()]));
  return [...paths].flatMap((path) => {
    const values = flat.map((fields) => fields.get(path) ?? NOT_SET);
    return values.every((value) => value === values[0]) ? [] : [{ path, values }];
  });
}

/** Runs that share a line. */
export interface Group<Run> {
  /** Distinguishes it from the others: the id of a run alone, or the value of the field. */
  readonly key: string;
  readonly label: string;
  /** For legends. */
  readonly short: string;
  readonly runs: readonly Run[];
}

/** How a run appears beside the others. */
export interface Look {
  /** Its name in narrow places. */
  readonly short: ShortName;
  /** Number of the colour of its line. */
  readonly colour: number;
}

/** The look of each run, by its id: runs of a group have the colour of their line. */
export function looksOf<Run extends Named>(runs: readonly Run[], groups: readonly Group<Run>[]): (id: string) => Look {
  const looks = new Map<string, Look>();
  for (const [index, short] of shortNames(runs).entries()) {
    const run = runs[index];
    if (run) looks.set(run.id, { short, colour: groups.findIndex((group) => group.runs.includes(run)) });
  }
  return (id) => looks.get(id) ?? { short: { name: id, values: [], brief: id }, colour: 0 };
}

/**
 * The runs with the same value of a field, by that value: numbers by size, runs without the field last. Without a field each
 * run is alone. `specs`: the specs as they are compared.
 */
export function grouped<Run extends Named & { readonly spec: object }>(
  runs: readonly Run[],
  field: string | null,
  specs: readonly object[] = runs.map(({ spec }) => spec),
): Group<Run>[] {
  if (field === null) {
    const short = shortNames(runs);
    return runs.map((run, index) => ({
      key: run.id,
      label: jobName(run),
      short: short[index]?.brief ?? run.id,
      runs: [run],
    }));
  }
  const groups = new Map<string, Run[]>();
  for (const [index, run] of runs.entries()) {
    const value = flattened(specs[index] ?? run.spec).get(field) ?? NOT_SET;
    groups.set(value, [...(groups.get(value) ?? []), run]);
  }
  return [...groups]
    .sort(([a], [b]) => byValue(a, b))
    .map(([value, members]) => {
      const short = `${fieldName(field)} ${shortText(value)}`;
      return { key: value, label: `${field} ${value}`, short, runs: members };
    });
}

/** The text of a value for narrow places. */
export const shortText = (value: string): string => shortValue(numberOf(value) ?? value);

/** The number that a text is; null for another text. */
const numberOf = (text: string): number | null => (text.trim() && Number.isFinite(Number(text)) ? Number(text) : null);

function byValue(a: string, b: string): number {
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x !== null && y !== null) return x - y;
  const rank = (text: string) => (text === NOT_SET ? 2 : numberOf(text) === null ? 1 : 0);
  return rank(a) - rank(b);
}

type Compared = Pick<Job, "spec" | "inputs">;
type Input = Job["inputs"][number];

/** The hash of the rows of a dataset, which its reference holds. */
const hashOf = (value: string): string | null => value.split("@sha256:")[1] ?? null;

/**
 * The specs with datasets by name and version, and checkpoints by name with the end of the id. Datasets of the same rows have
 * one text, whatever their ids and names. Other rows never have the text of these.
 */
export function namedSpecs(runs: readonly Compared[]): object[] {
  const names = new Map<string, Set<string>>();
  for (const { value, kind, name } of runs.flatMap(({ inputs }) => inputs)) {
    const hash = hashOf(value);
    if (kind !== "dataset" || !hash) continue;
    const known = names.get(hash) ?? new Set();
    if (name) known.add(name);
    names.set(hash, known);
  }
  const texts = new Map([...names].map(([hash, known]) => [hash, [...known].join(" = ")]));
  const textOf = ({ value, name, id }: Input): string | null => {
    const hash = hashOf(value);
    if (!hash) return name && `${name} (…${id.slice(-6)})`;
    const text = texts.get(hash) || "a deleted dataset";
    const isShared = [...texts].some(([other, same]) => other !== hash && (same || "a deleted dataset") === text);
    return isShared ? `${text} (rows ${hash.slice(0, 8)})` : text;
  };
  return runs.map(({ spec, inputs }) =>
    renamed(spec, new Map(inputs.map((one) => [one.field, textOf(one)]))),
  ) as object[];
}

function renamed(value: unknown, names: ReadonlyMap<string, string | null>, path = ""): unknown {
  const name = names.get(path);
  if (name && typeof value === "string") return name;
  const below = (key: string | number) => (path ? `${path}.${key}` : String(key));
  if (Array.isArray(value)) return value.map((one, index) => renamed(one, names, below(index)));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, renamed(one, names, below(key))]));
}

/** The fields in which the runs differ, and their groups by one of them, if it is one. */
export function useComparison(jobs: readonly Job[], field: string | null) {
  const specs = useMemo(() => namedSpecs(jobs), [jobs]);
  // The name of a run is the head of its column.
  const found = useMemo(() => differences(specs).filter(({ path }) => path !== "name"), [specs]);
  const by = found.some(({ path }) => path === field) ? field : null;
  const groups = useMemo(() => grouped(jobs, by, specs), [jobs, by, specs]);
  const lookOf = useMemo(() => looksOf(jobs, groups), [jobs, groups]);
  return { found, by, groups, lookOf };
}
