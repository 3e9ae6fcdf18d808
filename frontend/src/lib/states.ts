export const STAGES = ["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"] as const;
export type Stage = (typeof STAGES)[number];

const LABELS: Record<string, string> = {
  sft: "Supervised fine-tuning",
  reward_model: "Reward model",
  dpo: "Direct preference optimisation",
  kto: "Kahneman-Tversky optimisation",
  ppo: "PPO",
  evaluation: "Evaluation",
};
const SHORT: Record<string, string> = { ...LABELS, sft: "SFT", dpo: "DPO", kto: "KTO" };

export const stageLabel = (stage: string): string => LABELS[stage] ?? stage;
export const stageShort = (stage: string): string => SHORT[stage] ?? stage;

export const asStage = (name: string | null | undefined): Stage | undefined => STAGES.find((stage) => stage === name);

type Tone = "neutral" | "active" | "good" | "bad" | "warn";

const TONES: Record<string, Tone> = {
  queued: "neutral",
  starting: "active",
  running: "active",
  cancelling: "warn",
  pausing: "warn",
  paused: "warn",
  succeeded: "good",
  failed: "bad",
  cancelled: "neutral",
  // Dataset versions.
  importing: "active",
  ready: "good",
  blocked: "bad",
  damaged: "bad",
  // Annotation rounds.
  preparing: "active",
  open: "good",
  closing: "active",
  closed: "neutral",
  // Findings.
  blocking: "bad",
  warning: "warn",
  error: "bad",
  info: "neutral",
};

const TERMINAL = new Set(["succeeded", "failed", "cancelled"]);

export const statusTone = (status: string): Tone => TONES[status] ?? "neutral";
export const hasEnded = (status: string): boolean => TERMINAL.has(status);
