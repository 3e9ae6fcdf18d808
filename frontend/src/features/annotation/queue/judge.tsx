import { Pair } from "@/features/annotation/queue/pair";
import { RankingDesk } from "@/features/annotation/queue/ranking";
import type { Item, Verdict } from "@/lib/annotation/wish";

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
