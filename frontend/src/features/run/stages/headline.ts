import { number, percent } from "@/lib/format";
import { lastValue, type Series } from "@/lib/run/series";
import type { StageView } from "@/lib/run/stages";

export interface Figure {
  readonly label: string;
  readonly value: string;
}

interface Wanted {
  readonly names: readonly string[];
  readonly label: string;
  readonly show?: (value: number) => string;
}

const asPercent = (value: number): string => percent(value, 1);

/** The one or two figures to judge a stage by; of several names the first that is known. */
const WANTED: Record<string, readonly Wanted[]> = {
  sft: [
    { names: ["eval/loss"], label: "held-out loss" },
    { names: ["loss"], label: "loss" },
  ],
  reward_model: [
    { names: ["eval/accuracy"], label: "held-out accuracy", show: asPercent },
    { names: ["loss"], label: "loss" },
  ],
  ppo: [
    { names: ["objective/scores"], label: "score" },
    { names: ["objective/kl"], label: "KL" },
  ],
  evaluation: [
    { names: ["win_rate"], label: "win rate", show: asPercent },
    { names: ["kl"], label: "KL" },
  ],
};

export function headline(view: StageView, series: Readonly<Record<string, Series>>): Figure[] {
  return (WANTED[view.stage] ?? []).flatMap(({ names, label, show = number }) => {
    const found = names.flatMap((name) => view.summary[name] ?? lastValue(series[name]) ?? [])[0];
    return found === undefined ? [] : [{ label, value: show(found) }];
  });
}
