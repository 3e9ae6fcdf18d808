import type { Item, Verdict } from "@/features/annotation/model/wish";
import { Pair } from "@/features/annotation/ui/queue/pair";
import { RankingDesk } from "@/features/annotation/ui/queue/ranking";

export interface JudgeProps {
  item: Item;
  onAnswer: (verdict: Verdict) => void;
  onUndo: () => void;
  onHelp: () => void;
  canUndo: boolean;
}

/** The item that is to be judged now. */
export function Judge(props: JudgeProps) {
  return props.item.kind === "pairs" ? <Pair {...props} /> : <RankingDesk {...props} />;
}
