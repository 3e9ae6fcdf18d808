import { createContext, useContext } from "react";
import type { Problem } from "@/features/job-form/model/problems";
import type { Json, JsonObject } from "@/features/job-form/model/spec";
import type { Variations } from "@/features/job-form/model/sweep";

export interface FormState {
  readonly schema: JsonObject;
  readonly spec: JsonObject;
  /** Sets a field; undefined restores its default. */
  readonly set: (path: string, value: Json | undefined) => void;
  readonly problems: readonly Problem[];
  /** The spec that this one was made from; null for a new one. */
  readonly base: JsonObject | null;
  /** The fields that a sweep varies; null for a single job. */
  readonly variations: Variations | null;
  readonly vary: (path: string, text: string | undefined) => void;
  readonly variationProblems: Readonly<Record<string, string>>;
}

export const FormContext = createContext<FormState | null>(null);

export function useForm(): FormState {
  const form = useContext(FormContext);
  if (!form) throw new Error("A field of the job form stands outside of the form.");
  return form;
}

/** Id of a field's control, so that a finding can lead to it. */
export const controlId = (path: string): string => `field-${path.replaceAll(".", "-")}`;

/** Id of the texts below a field's control: its problems, or its description. */
export const notesId = (path: string): string => `${controlId(path)}-notes`;
