import { inPlace, type LabelOf, PLACE } from "@/lib/labels";
import type { MetricInfo } from "@/lib/api/types";

/** A figure or metric by which runs are compared. */
interface MetricOption {
  readonly value: string;
  readonly label: string;
}

type Described = Pick<MetricInfo, "stage" | "name" | "label">;

const STAGES = ["ppo", "evaluation", "dpo", "kto", "reward_model", "sft"] as const;

/** The label of a metric of any stage: that of PPO where several have it. Without a description, its name. */
export function labelOfAny(metrics: readonly Described[], labelOf: LabelOf, name: string): string {
  const found = STAGES.find((stage) =>
    metrics.some((one) => one.stage === stage && (one.name === name || inPlace(one.name, name) !== null)),
  );
  return found ? labelOf(found, name, name) : labelOf("ppo", name, name);
}

/** Options with the name behind the label, which several metrics may share. The score comes first. */
export function metricOptions(
  metrics: readonly Described[],
  labelOf: LabelOf,
  names: readonly string[],
): MetricOption[] {
  const options = [...new Set(names)].map((value) => {
    const label = labelOfAny(metrics, labelOf, value);
    return { value, label: label === value ? value : `${label} (${value})` };
  });
  const rank = ({ value }: MetricOption) => FIRST.indexOf(value) + 1 || FIRST.length + 1;
  return options.sort((a, b) => rank(a) - rank(b) || a.label.localeCompare(b.label));
}

const FIRST = ["objective/scores", "win_rate", "judge_after", "score_after", "objective/kl"];

/** The metrics that a run of a spec will have, as far as they are described: those of its stages and of its rewards. */
export function metricsOfSpec(metrics: readonly Described[], spec: Readonly<Record<string, unknown>>): string[] {
  const stages = Array.isArray(spec.stages) ? spec.stages : null;
  const rewards = Array.isArray(spec.rewards) ? (spec.rewards as unknown[]) : [];
  const own = rewards.flatMap((reward) => {
    const { name, type } = (reward ?? {}) as { name?: unknown; type?: unknown };
    const called = typeof name === "string" && name ? name : type;
    return typeof called === "string" ? [`reward/${called}`] : [];
  });
  const described = metrics.filter(({ stage, name }) => !name.includes(PLACE) && (stages?.includes(stage) ?? true));
  return [...described.map(({ name }) => name), ...own];
}
