import type { DatasetKind } from "@/lib/api/types";

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly required: boolean;
}

/** Kinds of record, and the columns that the user has to choose for each. */
export interface Shape {
  readonly id: string;
  readonly kind: DatasetKind;
  readonly label: string;
  readonly fields: readonly Field[];
}

const needed = (name: string, label: string): Field => ({ name, label, required: true });
const optional = (name: string, label: string): Field => ({ name, label, required: false });

const prompt = needed("prompt", "Prompt");
const answers = [needed("a", "Answer A"), needed("b", "Answer B")];
const source = optional("source", "Source");
const notes = [optional("annotator", "Annotator"), source, optional("time", "Time")];
const around = [optional("system", "System message"), optional("input", "Input, joined to the prompt")];
const margin = optional("margin", "Margin");

export const SHAPES: readonly Shape[] = [
  {
    id: "pair",
    kind: "preferences",
    label: "A preferred answer and another one",
    fields: [
      optional("prompt", "Prompt"),
      needed("chosen", "Preferred answer"),
      needed("rejected", "Other answer"),
      ...around,
      margin,
      ...notes,
    ],
  },
  {
    id: "labelled",
    kind: "preferences",
    label: "Two answers, and which is better",
    fields: [prompt, ...answers, needed("label", "Which is better"), ...around, margin, ...notes],
  },
  {
    id: "scoredPair",
    kind: "preferences",
    label: "Two answers, each with a score",
    fields: [
      prompt,
      ...answers,
      needed("score_a", "Score of A, higher is better"),
      needed("score_b", "Score of B"),
      ...around,
      ...notes,
    ],
  },
  {
    id: "rankedPair",
    kind: "preferences",
    label: "Two answers, each with a rank",
    fields: [
      prompt,
      ...answers,
      needed("rank_a", "Rank of A, 1 is best"),
      needed("rank_b", "Rank of B"),
      ...around,
      ...notes,
    ],
  },
  {
    id: "unlabelled",
    kind: "preferences",
    label: "Two answers, to be judged by people here",
    fields: [prompt, ...answers, ...around, source],
  },
  {
    id: "ranked",
    kind: "preferences",
    label: "Several answers and their ranks",
    fields: [
      prompt,
      needed("completions", "Answers, a list"),
      needed("ranks", "Ranks, 1 is best"),
      ...around,
      ...notes,
    ],
  },
  {
    id: "ordered",
    kind: "preferences",
    label: "Several answers and their order",
    fields: [
      prompt,
      needed("completions", "Answers, a list"),
      needed("order", "Numbers of the answers, the best first"),
      ...around,
      ...notes,
    ],
  },
  {
    id: "scored",
    kind: "preferences",
    label: "Several answers and their scores",
    fields: [
      prompt,
      needed("completions", "Answers, a list"),
      needed("scores", "Scores, higher is better"),
      ...around,
      ...notes,
    ],
  },
  {
    id: "rated",
    kind: "preferences",
    label: "One answer and its score",
    fields: [prompt, needed("completion", "Answer"), needed("score", "Score, higher is better"), ...around, ...notes],
  },
  {
    id: "placed",
    kind: "preferences",
    label: "One answer and its rank",
    fields: [prompt, needed("completion", "Answer"), needed("rank", "Rank, 1 is best"), ...around, ...notes],
  },
  {
    id: "ratedConversation",
    kind: "preferences",
    label: "A conversation, and the score of its last answer",
    fields: [
      needed("messages", "Messages, a list"),
      needed("score", "Score, higher is better"),
      optional("system", "System message"),
      ...notes,
    ],
  },
  {
    id: "placedConversation",
    kind: "preferences",
    label: "A conversation, and the rank of its last answer",
    fields: [
      needed("messages", "Messages, a list"),
      needed("rank", "Rank, 1 is best"),
      optional("system", "System message"),
      ...notes,
    ],
  },
  {
    id: "thumb",
    kind: "thumbs",
    label: "One answer, and whether it is good",
    fields: [prompt, needed("completion", "Answer"), needed("thumb", "Whether it is good"), ...around, ...notes],
  },
  {
    id: "thumbConversation",
    kind: "thumbs",
    label: "A conversation, and whether its last answer is good",
    fields: [
      needed("messages", "Messages, a list"),
      needed("thumb", "Whether it is good"),
      optional("system", "System message"),
      ...notes,
    ],
  },
  {
    id: "steps",
    kind: "steps",
    label: "A solution in steps, and a label for each",
    fields: [
      prompt,
      needed("steps", "Steps, a list"),
      needed("step_labels", "Their labels, a list"),
      ...around,
      ...notes,
    ],
  },
  {
    id: "sft",
    kind: "sft",
    label: "A prompt and the answer to imitate",
    fields: [prompt, needed("completion", "Answer"), ...around, source],
  },
  {
    id: "conversation",
    kind: "sft",
    label: "A conversation to imitate",
    fields: [needed("messages", "Messages, a list"), optional("system", "System message"), source],
  },
  {
    id: "prompts",
    kind: "prompts",
    label: "A prompt",
    fields: [prompt, optional("answer", "Right answer"), ...around, source],
  },
  { id: "texts", kind: "pretraining", label: "A plain text", fields: [needed("text", "Text"), source] },
];
