import { expect, test } from "vitest";
import type { Group } from "@/features/compare/model/differences";
import { bestIndex, frontiersOf, named } from "@/features/compare/model/frontiers";
import type { Job } from "@/lib/api/types";

const run = (summary: Record<string, number> | null = null) => ({ summary, seeds: [] }) as unknown as Job;
const group = (...runs: Job[]) => ({ key: "a", label: "a", short: "a", runs }) as unknown as Group<Job>;
const curve = (best: number[] | null, rates = [0.5, 1, 1]) => {
  const steps = [0, 10, 20];
  const named = { "eval/sqrt_kl": [0, 1, 2], "eval/win_rate": rates, ...(best && { "eval/best_step": best }) };
  return new Map(
    Object.entries(named).map(([name, values]) => [
      name,
      [{ seed: null, series: { steps, values, min: null, max: null } }],
    ]),
  );
};

test("a run's best is the trainer's, of equal win rates too", () => {
  const [found] = frontiersOf([group(run())], [curve([0, 10, 20])]);
  expect([found?.bestSteps, found?.best?.sqrtKl, bestIndex(found)]).toEqual([[20], 2, 2]);
});

test("a run from before the metric has the step of its summary, or none", () => {
  const [found] = frontiersOf([group(run({ best_step: 10 }))], [curve(null)]);
  expect(found?.bestSteps).toEqual([10]);
  expect(frontiersOf([group(run())], [curve(null)])[0]?.best).toBeNull();
});

test("several runs have a best each, and the means of these", () => {
  const [found] = frontiersOf([group(run(), run())], [curve([0, 10, 10], [0.5, 0.8, 0.7]), curve([0, 10, 20])]);
  expect([found?.bestSteps, found?.best?.sqrtKl, found?.best?.winRate]).toEqual([[10, 20], 1.5, 0.9]);
  expect(bestIndex(found)).toBe(2);
});

test("the seeds of a run have a best each, and a labelled mean", () => {
  const ended = (seed: number) => ({ seed, summary: { win_rate: 1 } });
  const several = { summary: null, seeds: [ended(4), ended(5), { seed: 6, summary: null }] } as unknown as Job;
  const of = (seed: number, best: number[]) =>
    [...curve(best)].map(([name, [one]]) => [name, { seed, series: one?.series }]);
  const byName = new Map<
    string,
    { seed: number; series: { steps: number[]; values: number[]; min: null; max: null } }[]
  >();
  for (const [name, one] of [...of(4, [0, 10, 10]), ...of(5, [0, 10, 20]), ...of(6, [0, 0, 0])])
    byName.set(name as string, [...(byName.get(name as string) ?? []), one as never]);
  const [found] = frontiersOf([group(several)], [byName]);
  expect([found?.bestSteps, found && named(found)]).toEqual([[10, 20], "a, mean of 2"]);
});
