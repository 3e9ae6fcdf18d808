import { stagesOf } from "@/features/run/model/spec";
import { useAddress } from "@/lib/address";
import type { Job } from "@/lib/api/types";
import { asStage, type Stage } from "@/lib/states";

/** Settings of single tabs in the address. They end with the tab. */
const OF_TABS = [
  "find",
  "type",
  "in",
  "trouble",
  "source",
  "against",
  "differing",
  "show",
  "step",
  "q",
  "by",
  "order",
  "min",
  "max",
  "ended",
  "prompts",
  "beside",
  "row",
  "of",
  "colour",
  "better",
  "diff",
];

interface Chosen {
  stage: Stage;
  /** The named tab, which may not exist. */
  tab: string;
  chooseStage: (stage: Stage) => void;
  addressOf: (tab: string) => URLSearchParams;
}

/** The stage and the tab, kept in the address so that a link shows the same. Without a choice the page follows the job. */
export function useChosen(job: Job | undefined): Chosen {
  const [params, setParams] = useAddress();
  const stages = job ? stagesOf(job.spec) : [];
  const present = asStage(job?.stage) ?? stages[0] ?? "sft";
  const named = asStage(params.get("stage"));
  const set = (name: string, value: string | null) =>
    setParams((before) => {
      const after = new URLSearchParams(before);
      if (value === null) after.delete(name);
      else after.set(name, value);
      return after;
    });
  return {
    stage: named && stages.includes(named) ? named : present,
    tab: params.get("tab") ?? "metrics",
    chooseStage: (stage) => set("stage", stage === present ? null : stage),
    addressOf: (tab) => {
      const after = new URLSearchParams(params);
      for (const name of OF_TABS) after.delete(name);
      if (tab === "metrics") after.delete("tab");
      else after.set("tab", tab);
      return after;
    },
  };
}
