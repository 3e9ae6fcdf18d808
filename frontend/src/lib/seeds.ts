import type { Job, SeedResult } from "@/lib/api/types";

type Summary = Readonly<Record<string, number>> | null | undefined;

/** Whether a seed came to its end, so that the means contain it. One that failed did not. */
export const cameToEnd = ({ summary }: SeedResult): boolean => Boolean(summary && Object.keys(summary).length);

/** The seed whose completions are shown without a choice: the trainer's best one. Before a seed is done, it is the one that runs. */
export const bestSeed = ({
  seeds,
  seeds_summary: summary,
  progress,
}: Pick<Job, "seeds" | "seeds_summary" | "progress">): number | null =>
  seeds.length ? (summary?.best_seed ?? progress?.seed ?? seeds[0]?.seed ?? null) : null;

/** The number of seeds that the figures of a summary are the means over; 1 for a job of one seed. */
export const endedSeeds = (summary: Summary): number =>
  summary?.seeds === undefined ? 1 : summary.seeds - (summary.failed_seeds ?? 0);

export interface Spread {
  readonly mean: number;
  readonly low: number | null;
  readonly high: number | null;
}

/** A figure of the mean, with its interval where several seeds have it. */
export const spreadOf = (summary: Summary, name: string): Spread | null => {
  const mean = summary?.[name];
  if (mean === undefined) return null;
  return { mean, low: summary?.[`${name}_low`] ?? null, high: summary?.[`${name}_high`] ?? null };
};

/** The mean, and its interval and number of values as `(38.6 % to 88.5 %, n = 3)`. */
export function spreadParts({ mean, low, high }: Spread, n: number, show: (value: number) => string) {
  const interval = low === null || high === null ? "" : `${show(low)} to ${show(high)}, `;
  return { value: show(mean), rest: `(${interval}n\u00a0=\u00a0${n})` };
}

/** `63.5 % (38.6 % to 88.5 %, n = 3)` */
export function spreadText(spread: Spread, n: number, show: (value: number) => string): string {
  const { value, rest } = spreadParts(spread, n, show);
  return `${value} ${rest}`;
}
