import type { DatasetKind } from "@/api/types";

export interface KindInfo {
  readonly id: DatasetKind;
  readonly label: string;
  readonly use: string;
  readonly example: string;
}

export const KINDS: readonly KindInfo[] = [
  {
    id: "preferences",
    label: "Preferences",
    use: "Two answers to a prompt and which one is better. Every job needs one.",
    example: '{"prompt": "…", "chosen": "…", "rejected": "…"}',
  },
  {
    id: "sft",
    label: "SFT pairs",
    use: "Prompts with the answer to imitate. Left out of a job: the preferred answers.",
    example: '{"prompt": "…", "completion": "…"}',
  },
  {
    id: "prompts",
    label: "Prompts",
    use: "What PPO and the evaluation ask. Left out of a job: the prompts of the preferences.",
    example: '{"prompt": "…"}',
  },
];

export const kindLabel = (kind: DatasetKind): string => KINDS.find((one) => one.id === kind)?.label ?? kind;
