import { isObject, type JsonObject, withValue } from "@/features/job-form/model/spec";
import type { DatasetKind } from "@/lib/api/types";

/** A role of the data for which a spec names a file in place of a dataset. */
export interface LocalFile {
  readonly role: string;
  /** The kind of dataset that the role takes. */
  readonly kind: DatasetKind;
  /** The name in the spec. */
  readonly file: string;
}

const KINDS: Readonly<Record<string, DatasetKind>> = {
  preferences: "preferences",
  thumbs: "thumbs",
  steps: "steps",
  sft: "sft",
  prompts: "prompts",
  evaluation_prompts: "prompts",
  pretraining: "pretraining",
};

/** The files that a spec names, as one does that `proximal jobs submit` or the trainer reads. */
export function localFiles(spec: JsonObject): LocalFile[] {
  const data = isObject(spec.data) ? spec.data : {};
  return Object.entries(KINDS).flatMap(([role, kind]) => {
    const file = data[role];
    return typeof file === "string" && file && !file.startsWith("ds_") ? [{ role, kind, file }] : [];
  });
}

/** The last part of a path. */
export const fileName = (path: string): string => path.split(/[/\\]/).pop() ?? path;

/** The spec with datasets in place of files, by role. */
export const withDatasets = (spec: JsonObject, ids: Readonly<Record<string, string>>): JsonObject =>
  Object.entries(ids).reduce((made, [role, id]) => withValue(made, `data.${role}`, id), spec);
