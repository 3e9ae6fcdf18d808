/** In the order in which they are read; what is not here comes after it. */
const ORDER = [
  "rows",
  "prompts",
  "pairs",
  "rankings",
  "ties",
  "unlabelled",
  "thumbs_up",
  "thumbs_down",
  "annotators",
  "duplicates",
  "truncated",
];
const LABELS: Record<string, string> = {
  steps_sft: "steps of SFT",
  steps_reward_model: "steps of the reward model",
  steps_dpo: "steps of DPO",
  steps_kto: "steps of KTO",
};

const rank = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);

/** A report's figures that are not 0, with their names for people. */
export function summaryItems(summary: Readonly<Record<string, number>>): [label: string, value: number][] {
  return Object.entries(summary)
    .filter(([, value]) => value !== 0)
    .sort(([one], [other]) => rank(one) - rank(other) || one.localeCompare(other))
    .map(([name, value]) => [LABELS[name] ?? name.replaceAll("_", " "), value]);
}
