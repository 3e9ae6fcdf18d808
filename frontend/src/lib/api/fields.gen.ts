/** Facts about fields of the API. `npm run generate` writes this file; do not edit it. */

/** The fields of `data` that name datasets, each with the kind that it takes. */
export const DATASET_KINDS = {
  "preferences": "preferences",
  "thumbs": "thumbs",
  "steps": "steps",
  "sft": "sft",
  "prompts": "prompts",
  "evaluation_prompts": "prompts",
  "pretraining": "pretraining"
} as const;

/** The most characters of texts. */
export const LONGEST = {
  "jobName": 200,
  "jobNotes": 10000,
  "templateName": 200,
  "templateDescription": 10000,
  "sampleNote": 2000,
  "sampleNoteAuthor": 100,
  "roundName": 200,
  "roundInstructions": 20000,
  "keyName": 100
} as const;
