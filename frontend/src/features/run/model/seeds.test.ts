import { expect, test } from "vitest";
import type { RunEvent } from "@/features/run/model/event";
import { seedViews } from "@/features/run/model/seeds";

const done = (seq: number, data: Record<string, unknown>): RunEvent => ({
  seq,
  type: "seed_finished",
  created_at: "",
  attempt: 1,
  data,
});

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
