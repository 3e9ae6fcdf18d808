import { expect, it } from "vitest";
import { bestOf, FIGURES } from "@/features/compare/model/figures";

const job = (summary: Record<string, number>, started_at: string | null = null, finished_at: string | null = null) => ({
  summary,
  started_at,
  finished_at,
});
const named = (label: string) => {
  const found = FIGURES.find((one) => one.label.startsWith(label));
  if (!found) throw new Error(label);
  return found;
};

it("writes the win rate with its interval", () => {
  const one = job({ win_rate: 0.6, win_rate_low: 0.5, win_rate_high: 0.7 });
  expect(named("Win rate").text(0.6, one)).toBe("60.0 % (50.0 % to 70.0 %)");
});

it("measures the time from the first start to the end", () => {
  expect(named("Time").value(job({}, "2026-01-01T00:00:00Z", "2026-01-01T00:02:00Z"))).toBe(120);
  expect(named("Time").value(job({}, "2026-01-01T00:00:00Z"))).toBeNull();
});

it("marks the best run, unless all are equal or no direction is better", () => {
  expect([...bestOf(named("Judge"), [job({ judge_after: 1 }), job({ judge_after: 3 }), job({})])]).toEqual([1]);
  expect(bestOf(named("Judge"), [job({ judge_after: 1 }), job({ judge_after: 1 })]).size).toBe(0);
  expect(bestOf(named("KL"), [job({ kl: 1 }), job({ kl: 2 })]).size).toBe(0);
});
