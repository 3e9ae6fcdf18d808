/** The shapes of /v1/annotation by hand, until openapi.json has them. */

import type { Job } from "@/api/types";

export type RoundStatus = "preparing" | "open" | "paused" | "closing" | "closed" | "failed";
export type RoundKind = "pairs" | "ranking";

export type DatasetSource = {
  type: "dataset";
  dataset: string;
  rows: "unlabelled" | "all";
  limit?: number;
  seed?: number;
};
export type CheckpointSource = {
  type: "checkpoints";
  checkpoints: string[];
  prompts: string;
  limit?: number;
  completions: number;
  temperature?: number;
  max_new_tokens?: number;
  seed?: number;
};

export interface NewRound {
  name?: string;
  kind: RoundKind;
  source: DatasetSource | CheckpointSource;
  overlap: number;
  gold_share: number;
  gold?: string;
  instructions: string;
  reward_model?: string;
}

export interface Policy {
  checkpoint: string | null;
  model: string | null;
  job: string | null;
  stage: string | null;
  step: number | null;
}

export interface Round {
  object: "annotation.round";
  id: string;
  name: string;
  kind: RoundKind;
  status: RoundStatus;
  progress: { fraction: number; note: string } | null;
  error: { code: string; message: string } | null;
  source: DatasetSource | CheckpointSource;
  policies: Policy[] | null;
  instructions: string;
  overlap: number;
  gold_share: number;
  items: number;
  gold_items: number;
  left_out: number;
  complete: number;
  answers: number;
  answers_wanted: number;
  annotators: number;
  reward_model: string | null;
  dataset: string | null;
  version: number | null;
  jobs: string[];
  created_at: string;
  closed_at: string | null;
}

export interface RoundList {
  data: Round[];
  has_more: boolean;
  last_id: string | null;
}

export interface Item {
  id: string;
  kind: RoundKind;
  prompt: string | { role: string; content: string }[];
  completions: string[];
  previous: { choice: string | null; ranks: number[] | null } | null;
}

export interface Hand {
  status: RoundStatus;
  items: Item[];
  done: number;
  total: number;
  last_item: string | null;
}

export interface AnswerReceipt {
  done: number;
  total: number;
}

export interface UndoReceipt extends AnswerReceipt {
  item: Item | null;
  last_item: string | null;
}

export interface AnnotatorProgress {
  annotator: string;
  answers: number;
  skips: number;
  ties: number;
  median_seconds: number | null;
  per_hour: number | null;
  gold_right: number;
  gold_of: number;
  agreement: number | null;
  kappa: number | null;
  reward_model_agreement: number | null;
  last_at: string | null;
}

export interface Side {
  checkpoint: string;
  wins: number;
  losses: number;
  ties: number;
}

export interface RewardModelAgreement {
  checkpoint: string;
  status: "queued" | "scoring" | "done" | "failed";
  progress: { fraction: number; note: string } | null;
  agree: number;
  of: number;
  low: number | null;
  high: number | null;
  error: { code: string; message: string } | null;
}

export interface RoundProgress {
  items: number;
  items_done: number;
  answers: number;
  answers_wanted: number;
  skips: number;
  ties: number;
  first_chosen: number;
  second_chosen: number;
  annotators: AnnotatorProgress[];
  alpha: number | null;
  alpha_items: number;
  gold_right: number;
  gold_of: number;
  sides: Side[] | null;
  reward_model: RewardModelAgreement | null;
}

export interface ItemResult {
  id: string;
  number: number;
  prompt: Item["prompt"];
  completions: string[];
  policies: number[] | null;
  gold: unknown;
  scores: number[] | null;
  answers: {
    annotator: string;
    choice: "a" | "b" | "tie" | "skip";
    ranks: number[] | null;
    shown: number[];
    seconds: number | null;
    answered_at: string;
  }[];
}

export interface Continuation {
  spec: Job["spec"];
  sentences: string[];
}
