import { visible } from "@/lib/visible";

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
  // Annotation rounds.
  preparing: "active",
  open: "good",
  closing: "active",
  closed: "neutral",
  // Findings.
  blocking: "bad",
  warning: "warn",
  info: "neutral",
};

/** The name of a job for people. A job may have none, or one that another program wrote. */
export const jobName = ({ name }: { readonly name: string }): string => visible(name) || "Unnamed job";

/** A name that is shown, and the fields in which a job of a sweep differs from the others, such as "learning_rate 0.001". */
interface SweepName {
  readonly name: string;
  readonly values: readonly string[];
}

/** A shorter last part of a path is unclear alone, such as "coef". */
const SHORTEST = 6;

/** `values`: the fields of the sweep by path; none for another job. The path is shortened to its last parts. */
export function sweepName(job: { readonly name: string }, values: Readonly<Record<string, unknown>> = {}): SweepName {
  const paths = Object.keys(values).map((path) => path.split("."));
  const labels = paths.map((path) => {
    const last = path.at(-1) ?? "";
    const isClear = last.length >= SHORTEST && paths.filter((other) => other.at(-1) === last).length === 1;
    return path.slice(isClear ? -1 : -2).join(".");
  });
  // The platform names a run of a sweep "KL 3: ppo.kl.coef=0.1, …".
  const end = paths[0] ? job.name.indexOf(`: ${paths[0].join(".")}=`) : -1;
  return {
    name: jobName({ name: end > 0 ? job.name.slice(0, end) : job.name }),
    values: Object.values(values).map((value, index) => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      return `${labels[index] ?? ""} ${visible(text)}`;
    }),
  };
}

const TERMINAL = new Set(["succeeded", "failed", "cancelled"]);

export const statusTone = (status: string): Tone => TONES[status] ?? "neutral";
export const hasEnded = (status: string): boolean => TERMINAL.has(status);
