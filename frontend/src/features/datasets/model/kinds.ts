import type { DatasetKind } from "@/lib/api/types";

interface KindInfo {
  readonly id: DatasetKind;
  readonly label: string;
  readonly use: string;
}

export const KINDS: readonly KindInfo[] = [
  {
    id: "preferences",
    label: "Preferences",
    use: "Answers to a prompt and which one is better: pairs, or rankings of several. For the reward model and DPO.",
  },
  {
    id: "thumbs",
    label: "Thumbs",
    use: "Single answers, each with a thumb up or down. For KTO, and for a pointwise reward model.",
  },
  {
    id: "steps",
    label: "Labelled steps",
    use: "Solutions with a label for each step: good, neutral or bad. For a stepwise reward model.",
  },
  {
    id: "sft",
    label: "SFT pairs",
    use: "Prompts with the answer to imitate, or conversations. Left out of a job: the preferred answers, or those with a thumb up.",
  },
  {
    id: "prompts",
    label: "Prompts",
    use: "Prompts for PPO and the evaluation, with the right answer where a reward checks it. A job without prompts uses those of its preferences, SFT pairs, thumbs or labelled steps.",
  },
  {
    id: "pretraining",
    label: "Pretraining texts",
    use: "Plain texts that are mixed into PPO (PPO-ptx), so that the model keeps what it knew.",
  },
];

export const kindLabel = (kind: DatasetKind): string => KINDS.find((one) => one.id === kind)?.label ?? kind;
