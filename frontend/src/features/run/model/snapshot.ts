import type { Series } from "@/charts/series";
import type { RunEvent } from "@/features/run/model/event";
import { type RunState, withLog } from "@/features/run/model/state";

/** A series as the server sends it: points, or buckets with their last, least and greatest value. */
export interface SentSeries {
  readonly stage: string;
  readonly name: string;
  readonly steps: readonly number[];
  readonly values?: readonly number[] | null | undefined;
  readonly last?: readonly number[] | null | undefined;
  readonly min?: readonly number[] | null | undefined;
  readonly max?: readonly number[] | null | undefined;
}

export interface Snapshot {
  readonly series: readonly SentSeries[];
  readonly lastSeq: number;
  readonly log: readonly RunEvent[];
  readonly sampleSteps: Readonly<Record<string, readonly number[]>>;
}

/** The series by stage and name. */
export function byStage(sent: readonly SentSeries[]): Record<string, Record<string, Series>> {
  const series: Record<string, Record<string, Series>> = {};
  for (const { stage, name, steps, values, last, min, max } of sent) {
    (series[stage] ??= {})[name] = { steps, values: values ?? last ?? [], min: min ?? null, max: max ?? null };
  }
  return series;
}

/**
 * The state to continue from. The log and the sample steps may already be newer than `lastSeq`: the stream then repeats
 * what they hold, and both merge by key.
 */
export function fromSnapshot(snapshot: Snapshot): RunState {
  return {
    lastSeq: snapshot.lastSeq,
    series: byStage(snapshot.series),
    sampleSteps: snapshot.sampleSteps,
    samples: {},
    log: withLog([], snapshot.log),
  };
}
