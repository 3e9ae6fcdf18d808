import { describe, expect, it } from "vitest";
import { FIGURES } from "@/features/compare/model/figures";
import { groupFigure, rangeText, othersText } from "@/features/compare/model/group-figures";
import type { SeedResult } from "@/lib/api/types";

type Summary = Record<string, number> | null;
const run = (summary: Summary, seeds: Summary[] = []) => ({
  summary,
  seeds: seeds.map((own) => ({ summary: own }) as SeedResult),
  started_at: "2026-01-01T00:00:00Z",
  finished_at: "2026-01-01T00:01:00Z",
});
const figure = (id: string) => {
  const found = FIGURES.find((one) => one.id === id);
  if (!found) throw new Error(id);
  return found;
};

describe("the figure of a group", () => {
  it("is the mean with its interval of Student's t", () => {
    const found = groupFigure(
      figure("judge_after"),
      [1, 2, 3].map((judge_after) => run({ judge_after })),
    );
    expect(found).toMatchObject({ mean: 2, n: 3 });
    expect([found?.low, found?.high].map((one) => one?.toFixed(3))).toEqual(["-0.484", "4.484"]); // 2 ± 4.303 · 1 / √3
  });
  it("leaves out runs without it", () =>
    expect(groupFigure(figure("judge_after"), [run({ judge_after: 4 }), run(null), run({})])).toEqual({
      mean: 4,
      low: null,
      high: null,
      n: 1,
    }));
  it("counts each seed that came to its end", () => {
    const seeds = [{ judge_after: 1 }, { judge_after: 3 }, {}, null];
    const found = groupFigure(figure("judge_after"), [
      run({ judge_after: 2, seeds: 3 }, seeds),
      run({ judge_after: 5 }),
    ]);
    expect(found).toMatchObject({ mean: 3, n: 3 });
  });
  it("has a time for each run", () =>
    expect(groupFigure(figure("time"), [run({}, [{ kl: 1 }, { kl: 2 }])])).toMatchObject({ mean: 60, n: 1 }));
  it("keeps a share between 0 and 1", () =>
    expect(groupFigure(figure("win_rate"), [run({ win_rate: 0 }), run({ win_rate: 1 })])).toMatchObject({
      low: 0,
      high: 1,
    }));
  it("is null without a value", () => expect(groupFigure(figure("kl"), [run(null)])).toBeNull());
});

it("best steps are a range", () => {
  expect(rangeText(figure("best_step"), [run({ best_step: 8 }), run({ best_step: 4 })])).toBe("4 to 8");
  expect(rangeText(figure("best_step"), [run({ best_step: 8 })])).toBe("8");
});

it("runs that did not succeed are named", () => {
  const statuses = ["succeeded", "failed", "failed", "running"] as const;
  expect(othersText(statuses.map((status) => ({ status })))).toBe("2 failed, 1 running");
});
