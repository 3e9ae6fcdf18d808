import {
  bounded,
  emptySeries,
  isAppend,
  type Point,
  type SentSeries,
  type Series,
  toSeries,
  upsert,
} from "@/charts/series";
import type { EventOf, JobEvent, Sample } from "@/lib/api/types";

type ByName = Readonly<Record<string, Series>>;

/**
 * The run's state on the page. It is complete up to the sequence number `lastSeq`. In a job of several seeds, the keys of
 * `series`, `sampleSteps` and `samples` begin with the seed: see `placeKey`, and `ofSeed` for the state of one.
 */
export interface RunState {
  readonly lastSeq: number;
  /** By `placeKey`, then by name. */
  readonly series: Readonly<Record<string, ByName>>;
  readonly sampleSteps: Readonly<Record<string, readonly number[]>>;
  /** Completions that arrived live, by `sampleKey`; older steps are fetched when they are looked at. */
  readonly samples: Readonly<Record<string, readonly Sample[]>>;
  /** Every event but metrics, samples and critic cards, ascending. */
  readonly log: readonly JobEvent[];
  /** Whether to fetch the series anew: a step inside a bucket was run again, so its least and greatest value may not hold. */
  readonly isStale: boolean;
}

export const emptyRun: RunState = {
  lastSeq: 0,
  series: {},
  sampleSteps: {},
  samples: {},
  log: [],
  isStale: false,
};

/** The key of a stage; of one seed of several, `<seed>/<stage>`. */
export const placeKey = (seed: number | null, stage: string): string => (seed === null ? stage : `${seed}/${stage}`);

/**
 * The state of one seed as if it were a job of its own; the log keeps the events of the whole job. `isFirst`: entries without
 * a seed are its own, too, because older versions reported the first seed without it.
 */
export function ofSeed(run: RunState, seed: number, isFirst: boolean): RunState {
  const prefix = `${seed}/`;
  const own = <Value>(all: Readonly<Record<string, Value>>): Record<string, Value> =>
    Object.fromEntries(
      Object.entries(all).flatMap(([key, value]) => {
        if (key.startsWith(prefix)) return [[key.slice(prefix.length), value]];
        return isFirst && !/^\d+\//.test(key) ? [[key, value]] : [];
      }),
    );
  return {
    ...run,
    series: own(run.series),
    sampleSteps: own(run.sampleSteps),
    samples: own(run.samples),
    log: run.log.filter((event) => event.seed === null || event.seed === seed),
  };
}

export const sampleKey = (stage: string, step: number): string => `${stage}/${step}`;

/** Steps whose completions are kept; older ones are fetched again when they are looked at. */
const MAX_SAMPLE_STEPS = 30;

/** Types that the log leaves out: a tab shows each of them, and each step has one. */
const APART: ReadonlySet<string> = new Set(["metrics", "samples", "critic_card"]);

/** Events in, new state out. Events at or before `lastSeq` are repeats and change nothing. */
export function reduce(state: RunState, events: readonly JobEvent[]): RunState {
  const fresh = inOrder(events, state.lastSeq);
  const last = fresh.at(-1);
  if (!last) return state;
  return {
    lastSeq: last.seq,
    ...withMetrics(
      state,
      fresh.filter((event) => event.type === "metrics"),
    ),
    ...withSamples(
      state,
      fresh.filter((event) => event.type === "samples"),
    ),
    log: withLog(
      state.log,
      fresh.filter(({ type }) => !APART.has(type)),
    ),
  };
}

function inOrder(events: readonly JobEvent[], lastSeq: number): JobEvent[] {
  const bySeq = new Map<number, JobEvent>();
  for (const event of events) if (event.seq > lastSeq) bySeq.set(event.seq, event);
  return [...bySeq.values()].sort((a, b) => a.seq - b.seq);
}

function withMetrics(
  { series, isStale }: RunState,
  events: readonly EventOf<"metrics">[],
): Pick<RunState, "series" | "isStale"> {
  if (!events.length) return { series, isStale };
  const next: Record<string, Record<string, Series>> = {};
  let stale = isStale;
  for (const [stage, points] of pointsByPlace(events)) {
    next[stage] = { ...series[stage] };
    for (const [name, list] of points) {
      const before = series[stage]?.[name] ?? emptySeries;
      stale ||= before.min !== null && !isAppend(before, list);
      next[stage][name] = bounded(upsert(before, list));
    }
  }
  return { series: { ...series, ...next }, isStale: stale };
}

function pointsByPlace(events: readonly EventOf<"metrics">[]): Map<string, Map<string, Point[]>> {
  const stages = new Map<string, Map<string, Point[]>>();
  for (const event of events) {
    const step = event.step;
    if (event.stage === null || step === null) continue;
    const stage = placeKey(event.seed, event.stage);
    const names = stages.get(stage) ?? new Map<string, Point[]>();
    stages.set(stage, names);
    for (const [name, value] of Object.entries(event.data.values)) {
      const points = names.get(name) ?? [];
      names.set(name, points);
      points.push({ step, value });
    }
  }
  return stages;
}

function withSamples(
  state: RunState,
  events: readonly EventOf<"samples">[],
): Pick<RunState, "sampleSteps" | "samples"> {
  const sampleSteps = { ...state.sampleSteps };
  const samples = { ...state.samples };
  for (const event of events) {
    const step = event.step;
    if (event.stage === null || step === null) continue;
    const stage = placeKey(event.seed, event.stage);
    sampleSteps[stage] = sortedUnion(sampleSteps[stage] ?? [], [step]);
    samples[sampleKey(stage, step)] = event.data.rows;
  }
  if (!events.length) return { sampleSteps: state.sampleSteps, samples: state.samples };
  return { sampleSteps, samples: Object.fromEntries(Object.entries(samples).slice(-MAX_SAMPLE_STEPS)) };
}

function sortedUnion(a: readonly number[], b: readonly number[]): number[] {
  return [...new Set([...a, ...b])].sort((x, y) => x - y);
}

/** Merges log entries by sequence number. */
function withLog(log: readonly JobEvent[], events: readonly JobEvent[]): readonly JobEvent[] {
  if (!events.length) return log;
  if ((events[0]?.seq ?? 0) > (log.at(-1)?.seq ?? 0)) return [...log, ...events];
  const bySeq = new Map([...log, ...events].map((event) => [event.seq, event]));
  return [...bySeq.values()].sort((a, b) => a.seq - b.seq);
}

export interface Snapshot {
  readonly series: Parameters<typeof byStage>[0];
  readonly lastSeq: number;
  readonly log: readonly JobEvent[];
  readonly sampleSteps: Readonly<Record<string, readonly number[]>>;
  /** When the last event happened; null without one. */
  readonly lastEventAt: string | null;
}

/** The series by `placeKey` and name. */
export function byStage(
  sent: readonly (SentSeries & { readonly seed: number | null; readonly stage: string; readonly name: string })[],
): Record<string, Record<string, Series>> {
  const series: Record<string, Record<string, Series>> = {};
  for (const one of sent) (series[placeKey(one.seed, one.stage)] ??= {})[one.name] = toSeries(one);
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
    isStale: false,
  };
}
