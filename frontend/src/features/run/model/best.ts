import { percent } from "@/lib/format";

/** What the evaluation found of the checkpoint with the best held-out win rate; null where the run kept none. */
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
