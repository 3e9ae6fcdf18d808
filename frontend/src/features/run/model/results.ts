import type { JobEvent } from "@/lib/api/types";
import { percent } from "@/lib/format";

/** A sentence about the checkpoint with the best held-out win rate; null where the run kept none. */
export function bestCheckpoint(summary: Readonly<Record<string, number>>): string | null {
  const { best_step: step, best_win_rate: rate, best_win_rate_low: low, best_win_rate_high: high } = summary;
  if (step === undefined || rate === undefined) return null;
  // The evaluation measures one policy once: where the last checkpoint is the best, all figures are the same.
  if (rate === summary.win_rate && summary.best_kl === summary.kl)
    return `The best checkpoint is the last one (step ${step}).`;
  const interval =
    low === undefined || high === undefined ? "" : `, 95 % interval ${percent(low, 1)} to ${percent(high, 1)}`;
  return `Best checkpoint (step ${step}): ${percent(rate, 1)}${interval}. Its completions were sampled again for this figure.`;
}

/** A finished seed of a job with several seeds. */
export interface SeedView {
  readonly seed: number;
  readonly seconds: number;
  readonly winRate: number | null;
  readonly kl: number | null;
  readonly collapsed: boolean;
  readonly why: string | null;
}

/** The finished seeds in order. A seed that ran again, after a lost machine, has its last result. */
export function seedViews(log: readonly JobEvent[]): SeedView[] {
  const bySeed = new Map<number, SeedView>();
  for (const event of log) {
    if (event.type !== "seed_finished") continue;
    const { seed, seconds, summary, collapsed, why } = event.data;
    const { win_rate: winRate = null, kl = null } = summary;
    bySeed.set(seed, { seed, seconds, winRate, kl, collapsed, why: why ?? null });
  }
  return [...bySeed.values()].sort((a, b) => a.seed - b.seed);
}
