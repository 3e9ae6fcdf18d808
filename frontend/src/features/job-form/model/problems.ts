import { hasDataset, rolesOf, stagesIn } from "@/features/job-form/model/layout";
import { labelOf } from "@/features/job-form/model/schema";
import { type JsonObject, valueAt } from "@/features/job-form/model/spec";
import type { components } from "@/lib/api/schema.gen";
import { ApiError } from "@/lib/api/client";

type Finding = components["schemas"]["JobFinding"];

/** A text that cannot be read as the value of its field. It stays in the form and blocks the submission. */
export interface Unreadable {
  readonly text: string;
  /** Why it cannot be read, and the remedy. */
  readonly fault: string;
}

/** The unreadable texts of the form, by path. */
export type UnreadableTexts = Readonly<Record<string, Unreadable>>;

export const unreadableProblems = (texts: Readonly<Record<string, { readonly fault: string }>>): Problem[] =>
  Object.entries(texts).map(([path, { fault }]) => ({ path, severity: "blocking", text: fault, advice: null }));

/** The texts without those at a path and below it. */
export const withoutPath = <T>(texts: Readonly<Record<string, T>>, path: string): Readonly<Record<string, T>> => {
  const kept = Object.entries(texts).filter(([at]) => at !== path && !at.startsWith(`${path}.`));
  return kept.length === Object.keys(texts).length ? texts : Object.fromEntries(kept);
};

/** The texts after an item of a list is removed: its own go, and those of the items after it move up. */
export function withoutItem<T>(texts: Readonly<Record<string, T>>, list: string, index: number): Record<string, T> {
  const moved = Object.entries(withoutPath(texts, `${list}.${index}`)).map(([at, text]): [string, T] => {
    const [number = "", ...rest] = at.startsWith(`${list}.`) ? at.slice(list.length + 1).split(".") : [];
    return [Number(number) > index ? [list, Number(number) - 1, ...rest].join(".") : at, text];
  });
  return Object.fromEntries(moved);
}

/** `ppo.kl.coef` → "PPO › KL › Coef", `rewards.0.weight` → "Rewards 1 › Weight". */
export function fieldName(path: string): string {
  const own = OWN_NAMES[path];
  if (own) return own;
  const names = path.split(".").filter(Boolean);
  return names
    .map((name) => (/^\d+$/.test(name) ? ` ${Number(name) + 1}` : ` › ${labelOf(name)}`))
    .join("")
    .replace(/^ › /, "");
}

/** In place of a path: the changes in the address of the page. */
export const ADDRESS = "?set";

/** Names of what is no field of the spec. */
const OWN_NAMES: Readonly<Record<string, string>> = {
  [ADDRESS]: "Address of the page",
  "sweep.count": "Sweep › Number of draws",
  "sweep.seed": "Sweep › Seed of the draws",
  "sweep.parallel": "Sweep › Most jobs at once",
};

export interface Problem {
  readonly path: string;
  readonly severity: "blocking" | "warning" | "info";
  readonly text: string;
  readonly advice: string | null;
}

/** `#/ppo/kl/coef` → `ppo.kl.coef`. */
export const pathOf = (pointer: string): string =>
  pointer
    .replace(/^#?\/?/, "")
    .replaceAll("/", ".")
    .replaceAll("~1", "/")
    .replaceAll("~0", "~");

/** A fault of pydantic's in the words of the page: "Input should be greater than or equal to 1" → "It must be at least 1". */
const inWords = (detail: string): string =>
  detail
    .replace(/^Input should be/, "It must be")
    .replace("greater than or equal to", "at least")
    .replace("less than or equal to", "at most")
    .replace("greater than", "above")
    .replace("less than", "below");

/** The faults that a refusal names, each at its field. */
export function problemsOf(error: unknown): Problem[] {
  if (!(error instanceof ApiError) || error.isPassing) return [];
  const errors = error.body.errors ?? [];
  if (!errors.length)
    return [{ path: error.body.param ?? "", severity: "blocking", text: error.message, advice: null }];
  return errors.map(({ pointer, detail }) => ({
    path: pathOf(pointer ?? ""),
    severity: "blocking",
    text: inWords(detail),
    advice: null,
  }));
}

/** A refusal in words: each fault with the name of its field, in place of a JSON pointer. */
export function refusalText(error: Error): string {
  const faults = problemsOf(error).filter(({ path }) => path);
  return faults.length ? faults.map(({ path, text }) => `${fieldName(path)}: ${text}`).join(" ") : error.message;
}

export const findingProblems = (findings: readonly Finding[]): Problem[] =>
  findings.map(({ pointer, severity, detail, advice }) => ({
    path: pathOf(pointer),
    severity,
    text: inWords(detail),
    advice,
  }));

/** The parts that every job has and that this one lacks yet. The server refuses a spec without them. */
export function missingParts(spec: JsonObject): Problem[] {
  const hasModel = valueAt(spec, "model.path") ?? valueAt(spec, "model.config");
  const [first] = rolesOf(spec, stagesIn(spec));
  const missing = (path: string, text: string): Problem => ({ path, severity: "blocking", text, advice: null });
  return [
    ...(hasModel ? [] : [missing("model.path", "Choose a model.")]),
    ...(hasDataset(spec) ? [] : [missing(`data.${first ?? "preferences"}`, "Choose a dataset.")]),
  ];
}

/** The problems of a field; with `inside`, of the parts of its value too, such as an entry of a list. */
export const problemsAt = (problems: readonly Problem[], path: string, inside = false): Problem[] =>
  problems.filter((one) => one.path === path || (inside && one.path.startsWith(`${path}.`)));
