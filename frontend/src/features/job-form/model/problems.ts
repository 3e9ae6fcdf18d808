import { hasDataset, rolesOf, stagesIn } from "@/features/job-form/model/layout";
import { type JsonObject, valueAt } from "@/features/job-form/model/spec";
import type { components } from "@/lib/api/schema.gen";
import { ApiError } from "@/lib/api/client";

type Finding = components["schemas"]["JobFinding"];

export interface Problem {
  readonly path: string;
  readonly severity: "blocking" | "warning" | "info";
  readonly text: string;
  readonly advice: string | null;
}

/** `#/ppo/kl/coef` → `ppo.kl.coef`. */
export const pathOf = (pointer: string): string => pointer.replace(/^#?\/?/, "").replaceAll("/", ".");

/** The faults that a refusal names, each at its field. */
export function problemsOf(error: unknown): Problem[] {
  if (!(error instanceof ApiError) || error.isPassing) return [];
  const errors = error.body.errors ?? [];
  if (!errors.length)
    return [{ path: error.body.param ?? "", severity: "blocking", text: error.message, advice: null }];
  return errors.map(({ pointer, detail }) => ({
    path: pathOf(pointer ?? ""),
    severity: "blocking",
    text: detail,
    advice: null,
  }));
}

export const findingProblems = (findings: readonly Finding[]): Problem[] =>
  findings.map(({ pointer, severity, detail, advice }) => ({ path: pathOf(pointer), severity, text: detail, advice }));

/** The parts that every job has and that this one lacks yet. The server refuses a spec without them. */
export function missingParts(spec: JsonObject): Problem[] {
  const hasModel = valueAt(spec, "model.path") ?? valueAt(spec, "model.config");
  const [first] = rolesOf(spec, stagesIn(spec));
  const missing = (path: string, text: string): Problem => ({ path, severity: "blocking", text, advice: null });
  return [
    ...(hasModel ? [] : [missing("model.path", "Choose a model.")]),
    ...(hasDataset(spec) ? [] : [missing(`data.${first?.role ?? "preferences"}`, "Choose a dataset.")]),
  ];
}

/** The problems of a field, and those below it. */
export const problemsAt = (problems: readonly Problem[], path: string, inside = false): Problem[] =>
  problems.filter((one) => one.path === path || (inside && one.path.startsWith(`${path}.`)));
