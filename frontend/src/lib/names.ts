import { visible } from "@/lib/visible";

/** The name of a job for people. A job may have none, or one that another program wrote. */
export const jobName = ({ name }: { readonly name: string }): string => visible(name) || "Unnamed job";

/** Jobs as options of a list: those of one name show the end of their ids. */
export function jobOptions(jobs: readonly { readonly id: string; readonly name: string }[]) {
  const names = jobs.map(jobName);
  return jobs.map(({ id }, index) => {
    const name = names[index] ?? id;
    return { value: id, label: names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} (…${id.slice(-6)})` };
  });
}

/** The fields of a sweep by path. */
type Values = Readonly<Record<string, unknown>>;

/** A name that is shown, and the fields in which a job of a sweep differs from the others, such as "learning_rate 0.001". */
interface SweepName {
  readonly name: string;
  readonly values: readonly string[];
}

/** `values`: the fields of the sweep; none for another job. The path is shortened to its last parts. */
export function sweepName(job: { readonly name: string }, values: Values = {}): SweepName {
  const paths = Object.keys(values);
  // The platform names a run of a sweep "KL 3: ppo.kl.coef=0.1, …". The order of the fields may be another one there.
  const ends = paths.map((path) => job.name.indexOf(`: ${path}=`)).filter((end) => end > 0);
  return {
    name: jobName({ name: job.name.slice(0, Math.min(...ends, job.name.length)) }),
    values: paths.map((path) => `${fieldName(path, paths)} ${shortValue(values[path])}`),
  };
}

/** A shorter last part of a path is unclear alone, such as "coef". */
const SHORTEST = 6;

/** The last part of a path; with the part before it where that is unclear, or the same as in another one of `paths`. */
export function fieldName(path: string, paths: readonly string[] = [path]): string {
  const last = lastPart(path);
  const isClear = last.length >= SHORTEST && paths.filter((other) => lastPart(other) === last).length <= 1;
  return path
    .split(".")
    .slice(isClear ? -1 : -2)
    .join(".");
}

const lastPart = (path: string): string => path.slice(path.lastIndexOf(".") + 1);

const valueText = (value: unknown): string => visible(typeof value === "string" ? value : JSON.stringify(value));

/** A longer number is shortened. */
const LONGEST_NUMBER = 8;

/** A value of a field for narrow places: a long number has four significant digits, such as 2.925e-6. */
export function shortValue(value: unknown): string {
  const text = valueText(value);
  if (typeof value !== "number" || text.length <= LONGEST_NUMBER || Number.isInteger(value)) return text;
  const rounded = Number(value.toPrecision(4));
  return Math.abs(rounded) < 1e-3 ? rounded.toExponential() : String(rounded);
}

/** A job as far as its name needs it. */
export interface Named {
  readonly id: string;
  readonly name: string;
  /** The group that it is in. */
  readonly group?: { readonly group_id: string; readonly values: Values } | null;
}

/** How a run is named beside others. */
export interface ShortName extends SweepName {
  /** In a line of its own, without the names of the fields. */
  readonly brief: string;
}

/** A shared beginning that is shorter stays. */
const LEAST = 12;

/**
 * The names of runs for narrow places. The beginning that a name shares with others is left out: "Sweep of KL 1" and "Sweep
 * of KL 2" become "…1" and "…2". A run of a sweep has the fields in which it differs from its others here. Runs that would
 * have the same name carry the end of their ids.
 */
export function shortNames(runs: readonly Named[]): ShortName[] {
  const values = runs.map((run) => differing(run, runs));
  const names = runs.map((run) => sweepName(run, run.group?.values).name);
  const full = names.map((name, index) =>
    isUnique(names, values, index) ? name : `${name} (${(runs[index]?.id ?? "").slice(-6)})`,
  );
  const cut = full.map((name, index) => {
    const shared = full.filter((_, other) => other !== index).map((other) => sharedStart(name, other).length);
    const cuts = shared.filter((length) => length >= LEAST);
    return cuts.length ? `…${name.slice(Math.min(...cuts))}` : name;
  });
  return values.map((own, index) => {
    const name = (isUnique(cut, values, index) ? cut : full)[index] ?? "";
    const bare = Object.values(own).map(shortValue).join(", ");
    return { name, values: sweepName({ name }, own).values, brief: bare ? `${name}: ${bare}` : name };
  });
}

/** Whether no other run has the same name and values. */
function isUnique(names: readonly string[], values: readonly Values[], index: number): boolean {
  const own = JSON.stringify(values[index]);
  return names.every(
    (name, other) => other === index || name !== names[index] || JSON.stringify(values[other]) !== own,
  );
}

/** The fields of the run's sweep that are not the same in all `runs` of it; all of them if it is the only one. */
function differing({ id, group }: Named, runs: readonly Named[]): Values {
  if (!group) return {};
  const others = runs.filter((one) => one.id !== id && one.group?.group_id === group.group_id);
  const isShared = (path: string) =>
    others.length > 0 && others.every(({ group: of }) => valueText(of?.values[path]) === valueText(group.values[path]));
  return Object.fromEntries(Object.entries(group.values).filter(([path]) => !isShared(path)));
}

/** The whole words with which both texts begin. */
function sharedStart(a: string, b: string): string {
  const [words, others] = [wordsOf(a), wordsOf(b)];
  const end = words.findIndex((word, index) => word !== others[index]);
  return words.slice(0, end < 0 ? -1 : end).join("");
}

/** Each word ends with its separator. */
const wordsOf = (text: string): string[] => text.split(/(?<=[\s:,;_/=-])/);
