import { useMemo, useState } from "react";
import { type UnreadableTexts, withoutItem, withoutPath } from "@/features/job-form/model/problems";
import { type Field, optionalPaths } from "@/features/job-form/model/schema";
import { type Json, type JsonObject, withoutListItem, withValue } from "@/features/job-form/model/spec";
import type { Queueing } from "@/features/job-form/model/submission";
import type { SweepOptions, Variations } from "@/features/job-form/model/sweep";
import type { FormState } from "@/features/job-form/ui/form-context";

/** The content with which the form begins. */
export interface Begun {
  /** The spec of the job that it starts from; null for a new one. */
  readonly base: JsonObject | null;
  /** The content of the form after "Discard". */
  readonly fresh: JsonObject;
  readonly spec: JsonObject;
  readonly variations: Variations;
  readonly options: SweepOptions;
  readonly unreadable: UnreadableTexts;
  readonly queueing: Queueing;
}

interface SpecState extends Pick<
  FormState,
  "spec" | "set" | "removeItem" | "unreadable" | "keepText" | "dropText" | "variations" | "vary"
> {
  readonly setVariations: (variations: Variations | null) => void;
  /** Replaces the spec, and drops every unreadable text. */
  readonly replace: (spec: JsonObject) => void;
}

/** The content of the form: the spec, the texts that cannot be read as part of it, and the variations of a sweep. */
export function useSpec(begun: Begun, fields: readonly Field[]): SpecState {
  const [spec, setSpec] = useState(begun.spec);
  const [unreadable, setUnreadable] = useState(begun.unreadable);
  const [variations, setVariations] = useState<Variations | null>(
    Object.keys(begun.variations).length ? begun.variations : null,
  );
  const optional = useMemo(() => optionalPaths(fields), [fields]);
  const dropText = (path: string) => setUnreadable((before) => withoutPath(before, path));
  return {
    spec,
    unreadable,
    variations,
    setVariations,
    dropText,
    keepText: (path, text) => setUnreadable((before) => ({ ...before, [path]: text })),
    set: (path: string, value: Json | undefined) => {
      setSpec((before) => withValue(before, path, value, optional));
      dropText(path);
    },
    removeItem: (list, index) => {
      setSpec((before) => withoutListItem(before, list, index));
      setUnreadable((before) => withoutItem(before, list, index));
    },
    vary: (path, text) => {
      dropText(path);
      setVariations((before) => {
        const others = Object.entries(before ?? {}).filter(([other]) => other !== path);
        return Object.fromEntries(text === undefined ? others : [...others, [path, text]]);
      });
    },
    replace: (next) => {
      setSpec(next);
      setUnreadable({});
    },
  };
}
