import { expect, test } from "vitest";
import { bestCheckpoint, seedViews } from "@/features/run/model/results";
import type { JobEvent } from "@/lib/api/types";

const last = { win_rate: 0.75, kl: 1.4 };

test("a best checkpoint that is not the last one has its own figure", () => {
  const best = { best_step: 4, best_win_rate: 0.75, best_win_rate_low: 0.5, best_win_rate_high: 0.9, best_kl: 1.2 };
  expect(bestCheckpoint({ ...last, ...best })).toBe(
    "Best checkpoint (step 4): 75.0 %, 95 % interval 50.0 % to 90.0 %. Its completions were sampled again for this figure.",
  );
});

test("where the last checkpoint is the best, its figure is not told as a second one", () => {
  const best = { best_step: 6, best_win_rate: 0.75, best_kl: 1.4 };
  expect(bestCheckpoint({ ...last, ...best })).toBe("The best checkpoint is the last one (step 6).");
});

test.each([last, { ...last, best_step: 4 }])("without a figure there is nothing to tell", (summary) =>
  expect(bestCheckpoint(summary)).toBeNull(),
);

const done = (seq: number, data: Record<string, unknown>) =>
  ({
    seq,
    type: "seed_finished",
    created_at: "",
    attempt: 1,
    data,
  }) as JobEvent;

test("seeds come in order, each as it ended last", () => {
  const views = seedViews([
    done(1, { seed: 4, seconds: 2, summary: { win_rate: 0.8, kl: 3 }, collapsed: false }),
    done(2, { seed: 3, seconds: 1, summary: {}, collapsed: true, why: "it diverged" }),
    done(3, { seed: 4, seconds: 5, summary: { win_rate: 0.9 }, collapsed: false }),
  ]);
  expect(views).toEqual([
    { seed: 3, seconds: 1, winRate: null, kl: null, collapsed: true, why: "it diverged" },
    { seed: 4, seconds: 5, winRate: 0.9, kl: null, collapsed: false, why: null },
  ]);
});
