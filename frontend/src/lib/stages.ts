export const STAGES = ["sft", "reward_model", "ppo", "evaluation"] as const;
export type Stage = (typeof STAGES)[number];

const LABELS: Record<string, string> = {
  sft: "Supervised fine-tuning",
  reward_model: "Reward model",
  ppo: "PPO",
  evaluation: "Evaluation",
};
const SHORT: Record<string, string> = { ...LABELS, sft: "SFT" };

export const stageLabel = (stage: string): string => LABELS[stage] ?? stage;
export const stageShort = (stage: string): string => SHORT[stage] ?? stage;
