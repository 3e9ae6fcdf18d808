import type { Sample } from "@/lib/api/types";

/** The steps that any of the runs has, ascending. */
export const unitedSteps = (runs: readonly (readonly number[])[]): number[] =>
  [...new Set(runs.flat())].sort((a, b) => a - b);

/**
 * The step whose completions a run shows: the chosen one, or the nearest one before that, of ascending `steps`. Null if the
 * run has none up to it.
 */
export const shownStep = (steps: readonly number[], chosen: number): number | null =>
  steps.findLast((step) => step <= chosen) ?? null;

/** A prompt, and for each run its completions of it: none where the run did not sample it, several where it sampled it often. */
export interface PromptRow {
  readonly prompt: string;
  readonly answers: readonly (readonly Sample[])[];
  /** Number of runs that have a completion of it. */
  readonly runs: number;
}

/**
 * The prompts of the runs, each once. A prompt is known by its whole text, since runs of different datasets have no other
 * name in common. Those that most runs have come first, otherwise in the order of the runs.
 */
export function promptRows(runs: readonly (readonly Sample[])[]): PromptRow[] {
  const prompts = new Map<string, Sample[][]>();
  for (const [run, samples] of runs.entries())
    for (const sample of samples) {
      const answers = prompts.get(sample.prompt) ?? runs.map((): Sample[] => []);
      answers[run]?.push(sample);
      prompts.set(sample.prompt, answers);
    }
  return [...prompts]
    .map(([prompt, answers]) => ({ prompt, answers, runs: answers.filter((found) => found.length).length }))
    .sort((a, b) => b.runs - a.runs);
}

/** How many of the prompts several runs have. `runs`: the runs with completions. */
export function sharedText(rows: readonly PromptRow[], runs: number): string {
  const prompts = `${rows.length} ${rows.length === 1 ? "prompt" : "prompts"}`;
  if (runs < 2) return `${prompts}.`;
  const [all, some] = [rows.filter((row) => row.runs === runs).length, rows.filter((row) => row.runs > 1).length];
  const everyRun = runs === 2 ? "both runs" : `all ${runs} runs`;
  if (!some) return `${prompts}, none shared: these runs sampled different prompts here.`;
  if (all === rows.length) return `${prompts}, shared by ${everyRun}.`;
  if (all === some) return `${prompts}, ${all} shared by ${everyRun}.`;
  return `${prompts}, ${all} shared by ${everyRun} and ${some - all} by some of them.`;
}
