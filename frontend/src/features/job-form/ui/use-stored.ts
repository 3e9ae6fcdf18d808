import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { discardDraft, writeDraft } from "@/features/job-form/model/draft";
import { ADDRESS, type UnreadableTexts, withoutPath } from "@/features/job-form/model/problems";
import type { Json, JsonObject } from "@/features/job-form/model/spec";
import type { Queueing } from "@/features/job-form/model/submission";
import type { SweepOptions, Variations } from "@/features/job-form/model/sweep";
import { datasetQuery } from "@/features/datasets/api/datasets";

/** The stages that train on a kind of dataset alone; comparisons are for the default ones. */
const STAGES: Record<string, Json> = {
  thumbs: ["sft", "kto", "evaluation"],
  steps: ["reward_model"],
  sft: ["sft"],
};

/** Puts the dataset of the address, `ds_…` or `ds_…@2`, into the field for its kind, once. */
export function useDataset(reference: string | null, set: (path: string, value: Json | undefined) => void): void {
  const [id = ""] = reference?.split("@") ?? [];
  const dataset = useQuery({ ...datasetQuery(id), enabled: id !== "" });
  const done = useRef(false);
  const kind = dataset.data?.kind;
  useEffect(() => {
    if (!kind || reference === null || done.current) return;
    done.current = true;
    set(`data.${kind}`, reference);
    if (STAGES[kind]) set("stages", STAGES[kind]);
    if (kind === "steps") set("reward_model.loss", "stepwise");
  }, [kind, reference, set]);
}

/** Keeps what is written in this browser, so that it survives a reload. */
export function useDraft(
  isKept: boolean,
  spec: JsonObject,
  variations: Variations | null,
  options: SweepOptions,
  unreadable: UnreadableTexts,
  { priority, preemptible }: Queueing,
): void {
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isKept) return;
    if (isFirst.current) isFirst.current = false;
    else if (Object.keys(spec).length || Object.keys(unreadable).length)
      writeDraft({
        spec,
        variations: { ...variations },
        options,
        unreadable: withoutPath(unreadable, ADDRESS),
        queueing: { priority, preemptible },
      });
    else discardDraft();
  }, [isKept, spec, variations, options, unreadable, priority, preemptible]);
}
