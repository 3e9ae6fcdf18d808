import { createContext, useContext } from "react";
import type { Problem, Unreadable, UnreadableTexts } from "@/features/job-form/model/problems";
import type { Json, JsonObject } from "@/features/job-form/model/spec";
import type { Variations } from "@/features/job-form/model/sweep";

export interface FormState {
  readonly schema: JsonObject;
  readonly spec: JsonObject;
  /** Sets a field; undefined restores its default. An unreadable text there is dropped. */
  readonly set: (path: string, value: Json | undefined) => void;
  /** Removes an item of a list. */
  readonly removeItem: (list: string, index: number) => void;
  /** The texts that cannot be read as the values of their fields. */
  readonly unreadable: UnreadableTexts;
  /** Keeps a text that cannot be read. */
  readonly keepText: (path: string, unreadable: Unreadable) => void;
  /** Drops an unreadable text, so that the field has its last value again. */
  readonly dropText: (path: string) => void;
  /** Shows a field, and opens the section that hides it. */
  readonly reveal: (path: string) => void;
  /** The field to show. */
  readonly goal: { readonly path: string } | null;
  readonly problems: readonly Problem[];
  /** The spec that this one was made from; null for a new one. */
  readonly base: JsonObject | null;
  /** The fields that a sweep varies; null for a single job. */
  readonly variations: Variations | null;
  readonly vary: (path: string, text: string | undefined) => void;
  readonly variationFaults: Readonly<Record<string, { readonly fault: string }>>;
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
