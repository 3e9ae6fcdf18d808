import { useAddress } from "@/components/use-address";
import { stagesOf } from "@/features/run/model/spec";
import type { Job } from "@/lib/api/types";
import { asStage, type Stage } from "@/lib/stages";

export const TABS = ["metrics", "completions", "events", "checkpoints", "spec"] as const;
export type TabId = (typeof TABS)[number];

interface Chosen {
  stage: Stage;
  tab: TabId;
  chooseStage: (stage: Stage) => void;
  chooseTab: (tab: TabId) => void;
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
    tab: TABS.find((tab) => tab === params.get("tab")) ?? "metrics",
    chooseStage: (stage) => set("stage", stage === present ? null : stage),
    chooseTab: (tab) => set("tab", tab === "metrics" ? null : tab),
  };
}
