import { addressOf, type Figure, type Order, type Place } from "@/features/completions/model/place";
import type { FigureHistogram, Sample } from "@/lib/api/types";
import { fixed } from "@/lib/format";
import { noValue } from "@/lib/labels";

/** A completion and its place in the run. */
export interface Row {
  /** Identifies the row where several have the same place. */
  readonly id?: string;
  readonly sample: Sample;
  readonly stage: string;
  readonly step: number;
  readonly index: number;
}

/** Distinguishes a row from the others of a run. */
export const rowKey = ({ id, stage, step, index }: Row): string => id ?? addressOf(stage, step, index);

export const rowsOf = (samples: readonly Sample[], stage: string, step: number): Row[] =>
  samples.map((sample, index) => ({ sample, stage, step, index }));

/** The rows that pass all filters but the range of the figure. */
export function matching(rows: readonly Row[], { search, ended, source }: Place): Row[] {
  const words = search.toLowerCase();
  return rows.filter(({ sample }) => {
    if (words && !`${sample.prompt}\n${sample.response}`.toLowerCase().includes(words)) return false;
    if (ended !== "any" && sample.finished !== (ended === "eos")) return false;
    return source === "any" || sample.held_out === (source === "held_out");
  });
}

/** The rows whose figure is within the range, both ends included. A row without the figure passes an open range only. */
export function within(rows: readonly Row[], { by, min, max }: Pick<Place, "by" | "min" | "max">): readonly Row[] {
  if (min === null && max === null) return rows;
  return rows.filter(({ sample }) => {
    const value = sample[by];
    return typeof value === "number" && value >= (min ?? -Infinity) && value <= (max ?? Infinity);
  });
}

/** The rows of one step sorted by a figure. Rows without a value come last. The other orders keep the run's order. */
export function sorted(rows: readonly Row[], by: Figure, order: Order): readonly Row[] {
  if (order === "newest" || order === "oldest") return rows;
  return rows.toSorted((a, b) => {
    const [x, y] = [a.sample[by] ?? null, b.sample[by] ?? null];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return order === "highest" ? y - x : x - y;
  });
}

/** Why a completion has no score, or the judge none; null where it has one, or where nothing was asked for it. */
export function missingOf(sample: Sample, figure: Figure): string | null {
  if (figure === "score") return sample.score_missing ?? null;
  return figure === "judge" ? (sample.judge_missing ?? null) : null;
}

/** A score in words: its number, or that there is none; null where nothing was asked for it. */
export function scoreText(score: number | null | undefined, missing: string | null | undefined): string | null {
  if (missing) return noValue(missing);
  return typeof score === "number" ? fixed(score) : null;
}

const BINS = 20;

/** The histogram of a figure, as the server counts that of a search. */
export function histogramOf(rows: readonly Row[], by: Figure): FigureHistogram {
  const values = rows.map(({ sample }) => sample[by]).filter((value) => typeof value === "number");
  if (!values.length) return { by, low: null, high: null, counts: [] };
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const counts = Array.from({ length: BINS }, () => 0);
  for (const value of values) {
    const bin = low === high ? 0 : Math.min(BINS - 1, Math.floor(((value - low) / (high - low)) * BINS));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return { by, low, high, counts };
}

export interface Bin {
  readonly from: number;
  readonly to: number;
  readonly count: number;
  /** 0 to 1, of the fullest bin. */
  readonly height: number;
}

/** The bins of a histogram, of which each joins `joined` of the server's. */
export function binsOf({ low, high, counts: parts }: FigureHistogram, joined = 1): Bin[] {
  if (low === null || high === null) return [];
  const counts = parts.flatMap((_, bin) =>
    bin % joined ? [] : [parts.slice(bin, bin + joined).reduce((sum, count) => sum + count, 0)],
  );
  const most = Math.max(1, ...counts);
  const width = (high - low) / counts.length;
  const shown = low === high ? counts.slice(0, 1) : counts;
  return shown.map((count, bin) => ({
    from: low + bin * width,
    to: bin === counts.length - 1 ? high : low + (bin + 1) * width,
    count,
    height: count / most,
  }));
}

/**
 * The better answer: by the judge's score if the job has a judge, otherwise by the rewards. The win rate counts the same
 * way. Null without scores, such as those of a judge that only compares.
 */
export function winner(row: Sample, judged: boolean): "before" | "after" | "tie" | null {
  const after = (judged ? row.judge : row.score) ?? null;
  const before = (judged ? row.reference_judge : row.reference_score) ?? null;
  if (after === null || before === null) return null;
  if (after === before) return "tie";
  return after > before ? "after" : "before";
}
