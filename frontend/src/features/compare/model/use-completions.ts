import { useQueries, type UseQueryResult } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { type PromptRow, promptRows, shownStep } from "@/features/compare/model/completions";
import { samplesQuery, stepsQuery } from "@/features/completions/api/samples";
import type { Job, Sample } from "@/lib/api/types";
import { bestSeed } from "@/lib/seeds";
import { hasEnded, type Stage } from "@/lib/states";

/** A part that could not be loaded and has nothing older to show. */
interface Failure {
  readonly error: Error;
  readonly retry: () => void;
}

/** A run with its steps that have completions, by stage. */
export interface SampledRun {
  readonly job: Job;
  /** The seed whose completions are shown; null for a job of one. */
  readonly seed: number | null;
  readonly steps: Partial<Record<string, readonly number[]>>;
  readonly failure: Failure | null;
}

/** One run in a column. */
export interface Column extends Omit<SampledRun, "steps"> {
  /** The step that is shown; null if the run has none up to the chosen one. */
  readonly step: number | null;
  readonly samples: readonly Sample[];
}

export interface ShownStep {
  readonly chosen: number;
  readonly columns: readonly Column[];
  readonly rows: readonly PromptRow[];
}

const NONE: readonly never[] = [];

const combine = <Data>(results: readonly UseQueryResult<Data>[]) =>
  results.map(({ data, error, isLoadingError, isPending, refetch }) => ({
    data,
    isPending,
    failure: isLoadingError ? { error, retry: () => void refetch() } : null,
  }));

/** The steps of the runs; null until all are known. */
export function useSampledRuns(jobs: readonly Job[]): readonly SampledRun[] | null {
  const found = useQueries({
    queries: jobs.map((job) => stepsQuery(job.id, bestSeed(job), !hasEnded(job.status))),
    combine,
  });
  const runs = useMemo(
    () =>
      jobs.map((job, index) => ({
        job,
        seed: bestSeed(job),
        steps: found[index]?.data ?? {},
        failure: found[index]?.failure ?? null,
      })),
    [jobs, found],
  );
  return found.some(({ isPending, data }) => isPending && !data) ? null : runs;
}

/**
 * The completions of the runs at a step, or at the nearest step before it that a run has. While they are loaded, those shown
 * before stay, and `isOld` is true. `shown` is null until the first ones are there.
 */
export function useShownStep(runs: readonly SampledRun[], stage: Stage, chosen: number) {
  const places = useMemo(
    () => runs.map(({ steps, ...run }) => ({ ...run, step: shownStep(steps[stage] ?? NONE, chosen) })),
    [runs, stage, chosen],
  );
  const asked = places.flatMap(({ job, seed, step }) => (step === null ? [] : [{ jobId: job.id, seed, step }]));
  const found = useQueries({
    queries: asked.map(({ jobId, seed, step }) => samplesQuery({ jobId, seed, stage }, step)),
    combine,
  });
  const loaded = useMemo((): ShownStep | null => {
    if (found.some(({ isPending }) => isPending)) return null;
    const answers = found.values();
    const columns = places.map((place): Column => {
      const answer = place.step === null ? null : answers.next().value;
      return { ...place, samples: answer?.data ?? NONE, failure: place.failure ?? answer?.failure ?? null };
    });
    return { chosen, columns, rows: promptRows(columns.map(({ samples }) => samples)) };
  }, [found, places, chosen]);
  const [last, setLast] = useState(loaded);
  if (loaded && loaded !== last) setLast(loaded);
  return { shown: loaded ?? last, isOld: !loaded };
}
