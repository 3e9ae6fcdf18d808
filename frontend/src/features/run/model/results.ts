import type { RunEvent } from "@/features/run/model/event";
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

/** One seed of several that has come to an end. */
export interface SeedView {
  readonly seed: number;
  readonly seconds: number | null;
  readonly winRate: number | null;
  readonly kl: number | null;
  readonly collapsed: boolean;
  readonly why: string | null;
}

/** The seeds that are done, in order; one that was done again, after a lost machine, counts as it ended last. */
export function seedViews(log: readonly RunEvent[]): SeedView[] {
  const bySeed = new Map<number, SeedView>();
  for (const { type, data } of log) {
    if (type !== "seed_finished" || typeof data.seed !== "number") continue;
    const summary: object = typeof data.summary === "object" && data.summary !== null ? data.summary : {};
    bySeed.set(data.seed, {
      seed: data.seed,
      seconds: asNumber(data.seconds),
      winRate: "win_rate" in summary ? asNumber(summary.win_rate) : null,
      kl: "kl" in summary ? asNumber(summary.kl) : null,
      collapsed: data.collapsed === true,
      why: typeof data.why === "string" ? data.why : null,
    });
  }
  return [...bySeed.values()].sort((a, b) => a.seed - b.seed);
}

const asNumber = (value: unknown): number | null => (typeof value === "number" ? value : null);
