import type { DatasetKind } from "@/api/types";

export interface KindInfo {
  readonly id: DatasetKind;
  readonly label: string;
  readonly use: string;
  readonly examples: readonly string[];
}

export const KINDS: readonly KindInfo[] = [
  {
    id: "preferences",
    label: "Preferences",
    use: "Answers to a prompt and which one is better: pairs, or rankings of several. For the reward model and DPO.",
    examples: [
      '{"prompt": "…", "chosen": "…", "rejected": "…"}',
      '{"prompt": "…", "completions": ["…", "…", "…"], "ranks": [1, 2, 2]}',
    ],
  },
  {
    id: "sft",
    label: "SFT pairs",
    use: "Prompts with the answer to imitate, or conversations. Left out of a job: the preferred answers.",
    examples: [
      '{"prompt": "…", "completion": "…"}',
      '{"messages": [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]}',
    ],
  },
  {
    id: "prompts",
    label: "Prompts",
    use: "What PPO and the evaluation ask, with the right answer where a reward checks it. Left out of a job: the prompts of the preferences or SFT pairs.",
    examples: ['{"prompt": "…"}', '{"prompt": "…", "answer": "42"}'],
  },
  {
    id: "pretraining",
    label: "Pretraining texts",
    use: "Plain texts that are mixed into PPO (PPO-ptx), so that the model keeps what it knew.",
    examples: ['{"text": "…"}'],
  },
];

export const kindLabel = (kind: DatasetKind): string => KINDS.find((one) => one.id === kind)?.label ?? kind;
