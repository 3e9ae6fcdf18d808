import { describe, expect, test } from "vitest";
import {
  headlineOfSeeds,
  linesOf,
  linesOfHistory,
  namedSeed,
  type SeedRun,
  stagesTogether,
} from "@/features/run/model/seeds";
import { bestSeed, spreadText } from "@/lib/seeds";
import type { StageView } from "@/features/run/model/stages";
import { measured, percent } from "@/lib/format";
import type { SeedResult } from "@/lib/api/types";

const seed = (number: number, summary: Record<string, number> | null): SeedResult => ({
  seed: number,
  status: summary ? "finished" : "waiting",
  stage: null,
  step: null,
  total_steps: null,
  seconds: summary ? 1 : null,
  summary,
  why: null,
});

test("the best seed is that of the trainer, before it the first", () => {
  const seeds = [seed(4, { win_rate: 0.5 }), seed(5, { win_rate: 0.75 }), seed(6, {}), seed(7, null)];
  expect(bestSeed({ seeds, seeds_summary: { best_seed: 5 }, progress: null })).toBe(5);
  expect(bestSeed({ seeds: [seed(4, null)], seeds_summary: null, progress: null })).toBe(4);
  expect(bestSeed({ seeds: [], seeds_summary: null, progress: null })).toBeNull();
  expect(namedSeed(seeds, "6")).toBe(6);
  expect(namedSeed(seeds, "9")).toBeNull();
});

const run = (number: number, value: number, counts = true): SeedRun => ({
  seed: number,
  counts,
  series: { kl: { steps: [1], values: [value], min: null, max: null } },
});
const line = { key: "kl", label: "", series: { steps: [], values: [], min: null, max: null }, colour: 0 };

test("a chart has the labelled mean of the ended seeds, and each seed thin", () => {
  const runs = [run(4, 1), run(5, 3), run(6, 9, false)];
  const lines = linesOf(runs, "kl", line, "both");
  expect(lines.map(({ label, thin }) => [label, thin ?? false])).toEqual([
    ["mean of 2 seeds", false],
    ["seed 4", true],
    ["seed 5", true],
    ["seed 6", true],
  ]);
  expect(lines[0]?.series.values).toEqual([2]);
  expect(linesOf(runs, "kl", line, "mean").map(({ label }) => label)).toEqual(["mean of 2 seeds"]);
  expect(linesOf(runs, "kl", line, "each").map(({ label }) => label)).toEqual(["seed 4", "seed 5", "seed 6"]);
});

test("the label of a seed comes before that of the metric, which may be cut", () => {
  const lines = linesOf([run(4, 1), run(5, 3)], "kl", { ...line, label: "training" }, "both");
  expect(lines.map(({ label }) => label)).toEqual([
    "mean of 2 seeds: training",
    "seed 4: training",
    "seed 5: training",
  ]);
});

test("the curves of ancestors are named before the metric", () => {
  const history = [{ key: "job_1", label: "First until step 2", series: run(4, 1).series, to: 2, log: [] }];
  expect(linesOfHistory(history, "kl", { ...line, label: "training" }).map(({ label }) => label)).toEqual([
    "First until step 2: training",
  ]);
  expect(linesOfHistory(history, "kl", line).map(({ label }) => label)).toEqual(["First until step 2"]);
  expect(linesOfHistory(history, "loss", line)).toEqual([]);
});

test("the headline of a stage is the mean of the seeds with its interval", () => {
  const figures = (stage: "ppo" | "reward_model", name: string, values: number[]) => {
    const view = (value: number): StageView => ({ stage, state: "done", seconds: 1, summary: { [name]: value } });
    const runs = values.map((_, index) => ({ seed: index, series: {}, counts: true }));
    return headlineOfSeeds(
      0,
      runs,
      values.map((value) => [view(value)]),
      null,
    );
  };
  // s = 1 and t = 4.303 at 2 degrees of freedom: 2 ± 4.303 / √3 = 2 ± 2.484
  expect(figures("ppo", "objective/kl", [1, 2, 3])).toEqual([
    { label: "mean KL", value: "2", rest: "(−0.484 to 4.48, n\u00a0=\u00a03)" },
  ]);
  expect(figures("ppo", "objective/kl", [2])).toEqual([{ label: "mean KL", value: "2", rest: "(n\u00a0=\u00a01)" }]);
  // 0.9 ± 12.706 · 0.1 is cut to [0, 1]: a share has no more.
  expect(figures("reward_model", "eval/accuracy", [0.8, 1])).toEqual([
    { label: "mean held-out accuracy", value: "90.0 %", rest: "(0.0 % to 100.0 %, n\u00a0=\u00a02)" },
  ]);
});

test("the mean is the same object while its series are, so that its chart is not drawn again", () => {
  const runs = [run(4, 1), run(5, 3)];
  const mean = () => linesOf(runs, "kl", line, "mean")[0]?.series;
  expect(mean()).toBe(mean());
});

test("one seed alone, or the first of several, is shown without a mean", () => {
  expect(linesOf([run(4, 1)], "kl", { ...line, label: "KL" }, "both").map(({ label }) => label)).toEqual(["KL"]);
  const begun = linesOf([run(4, 1, false), { seed: 5, counts: false, series: {} }], "kl", line, "mean");
  expect(begun.map(({ label, thin }) => [label, thin])).toEqual([["seed 4", false]]);
});

test("a mean is labelled with its interval and the number of seeds", () => {
  expect(spreadText({ mean: 0.635, low: 0.386, high: 0.885 }, 3, (value) => percent(value, 1))).toBe(
    "63.5 % (38.6 % to 88.5 %, n\u00a0=\u00a03)",
  );
  expect(spreadText({ mean: 2, low: null, high: null }, 1, measured)).toBe("2 (n\u00a0=\u00a01)");
});

test("a stage is done once all seeds are done with it", () => {
  const view = (state: StageView["state"]): StageView => ({
    stage: "sft",
    state,
    seconds: state === "done" ? 2 : null,
    summary: {},
  });
  const together = (...states: StageView["state"][]) => stagesTogether(states.map((state) => [view(state)]))[0];
  expect(together("done", "done")).toMatchObject({ state: "done", seconds: 4 });
  expect(together("done", "waiting")).toMatchObject({ state: "active", seconds: null });
  expect(together("waiting", "waiting")?.state).toBe("waiting");
  expect(together("done", "stopped")?.state).toBe("stopped");
});

describe("on another axis", () => {
  const along = (factor: number) => ({ positions: null, along: (step: number) => step * factor });
  const seeds = [1, 3].map((value, index) => ({
    ...run(index, value),
    series: { kl: { steps: [1, 2, 3], values: [value, value, value], min: null, max: null } },
  }));

  test("the mean of seeds is taken at equal positions", () => {
    const placed = seeds.map((one, index) => ({ ...one, placement: along(10 * (index + 1)) }));
    const [mean] = linesOf(placed, "kl", line, "mean");
    expect([mean?.placed, mean?.series.steps, mean?.series.values]).toEqual([true, [20, 30], [2, 2]]);
  });

  test("seeds that share no part of the axis have no mean", () => {
    const placed = seeds.map((one, index) => ({
      ...one,
      placement: { positions: null, along: (step: number) => step + 100 * index },
    }));
    expect(linesOf(placed, "kl", line, "both").map(({ label }) => label)).toEqual(["seed 0", "seed 1"]);
  });

  test("a seed without a place has no line", () => {
    const placed = seeds.map((one, index) => ({ ...one, placement: index ? null : along(10) }));
    expect(linesOf(placed, "kl", line, "each").map(({ label }) => label)).toEqual(["seed 0"]);
    expect(linesOf(placed.slice(1), "kl", line, "each")).toEqual([]);
  });
});
