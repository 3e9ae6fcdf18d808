import type { RunEvent } from "@/features/run/model/event";

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
