import { lastValue, type Series } from "@/charts/series";
import type { StageView } from "@/features/run/model/stages";
import { measured, percent } from "@/lib/format";

export interface Figure {
  readonly label: string;
  readonly value: string;
}

interface Wanted {
  readonly name: string;
  readonly label: string;
  readonly show?: (value: number) => string;
}

const asPercent = (value: number): string => percent(value, 1);

/** The one or two figures to judge a stage by; each with what stands in for it until it is known. */
const WANTED: Record<string, readonly (readonly Wanted[])[]> = {
  sft: [
    [
      { name: "eval/loss", label: "held-out loss" },
      { name: "loss", label: "loss" },
    ],
  ],
  reward_model: [
    [
      { name: "eval/accuracy", label: "held-out accuracy", show: asPercent },
      { name: "loss", label: "loss" },
    ],
  ],
  dpo: [
    [
      { name: "eval/accuracy", label: "held-out accuracy", show: asPercent },
      { name: "loss", label: "loss" },
    ],
  ],
  kto: [
    [
      { name: "eval/margin", label: "held-out margin" },
      { name: "loss", label: "loss" },
    ],
  ],
  ppo: [[{ name: "objective/scores", label: "score" }], [{ name: "objective/kl", label: "KL" }]],
  evaluation: [[{ name: "win_rate", label: "win rate", show: asPercent }], [{ name: "kl", label: "KL" }]],
};

export function headline(view: StageView, series: Readonly<Record<string, Series>>): Figure[] {
  return (WANTED[view.stage] ?? []).flatMap((alternatives) => {
    const known = alternatives.flatMap(({ name, label, show = measured }) => {
      const value = view.summary[name] ?? lastValue(series[name]);
      return value === null ? [] : [{ label, value: show(value) }];
    });
    return known.slice(0, 1);
  });
}
