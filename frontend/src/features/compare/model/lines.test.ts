import { expect, test } from "vitest";
import * as code from "@/charts/origin";
import { linesOf } from "@/features/compare/model/lines";
import { placedRun } from "@/features/compare/model/placed-runs";
import type { AxisKind } from "@/charts/axis";
import type { Job } from "@/lib/api/types";

const points = (steps: number[], values: number[]) => ({ steps, values, min: null, max: null });
const KL = { name: "kl", label: "KL", unit: "nats", right: false };
const LR = { name: "lr", label: "Learning rate", unit: "", right: true };

const job = (id: string) => ({ id, seeds: [] }) as unknown as Job;

/** A run in which a step takes so many seconds. */
function run(id: string, axis: AxisKind, series: Record<string, ReturnType<typeof points>>) {
  const curves = new Map(Object.entries(series).map(([name, one]) => [name, [{ seed: null, series: one }]]));
  return placedRun({ code, job: job(id), curves, log: [], ancestors: [], axis, stage: "ppo" });
}

const groupOf = (...ids: string[]) => ({
  key: ids.join(),
  label: `Run ${ids.join()}`,
  short: ids.join(),
  runs: ids.map(job),
});
const byId = (...runs: ReturnType<typeof run>[]) => new Map(runs.map((one) => [one.job.id, one]));

test("each run lies at its own time", () => {
  const fast = run("a", "elapsed", { kl: points([1, 2], [1, 2]), "time/step": points([1, 2], [1, 1]) });
  const slow = run("b", "elapsed", { kl: points([1, 2], [1, 2]), "time/step": points([1, 2], [5, 5]) });
  const { lines } = linesOf([groupOf("a"), groupOf("b")], byId(fast, slow), [KL]);
  expect(lines.map(({ along }) => along?.(2))).toEqual([2, 10]);
});

test("the mean of a group is taken at equal times", () => {
  const steps = { kl: points([1, 2, 3, 4], [1, 2, 3, 4]) };
  const fast = run("a", "elapsed", { ...steps, "time/step": points([1, 2, 3, 4], [1, 1, 1, 1]) });
  const slow = run("b", "elapsed", { ...steps, "time/step": points([1, 2, 3, 4], [2, 2, 2, 2]) });
  const { lines } = linesOf([groupOf("a", "b")], byId(fast, slow), [KL]);
  expect(lines.map(({ label, placed, series }) => [label, placed, series.steps, series.values])).toEqual([
    ["a,b, mean of 2", true, [2, 3, 4], [1.5, 2.25, 3]],
  ]);
});

test("a metric that a run lacks is named", () => {
  const runs = byId(run("a", "step", { kl: points([1], [1]) }), run("b", "step", {}));
  const { lines, note } = linesOf([groupOf("a"), groupOf("b")], runs, [KL]);
  expect(lines.map(({ key }) => key)).toEqual(["a"]);
  expect(note).toBe("Not measured in b.");
});

test("a chart of several metrics names the one that is missing", () => {
  const runs = byId(
    run("a", "step", { kl: points([1], [1]), lr: points([1], [1]) }),
    run("b", "step", { kl: points([1], [1]) }),
  );
  expect(linesOf([groupOf("a"), groupOf("b")], runs, [KL, LR]).note).toBe("Learning rate: Not measured in b.");
});

test("runs that share no part of an axis have no mean, and the chart says so", () => {
  const axis = { "objective/kl": points([1, 2], [1, 2]) };
  const low = run("a", "metric:objective/kl", { kl: points([1, 2], [1, 2]), ...axis });
  const high = run("b", "metric:objective/kl", { kl: points([1, 2], [1, 2]), "objective/kl": points([1, 2], [8, 9]) });
  const { lines, nothing } = linesOf([groupOf("a", "b")], byId(low, high), [KL]);
  expect([lines, nothing]).toEqual([
    [],
    "The runs of each line share no part of this axis, so they have no mean. Choose another axis.",
  ]);
});

test("a chart without a line names the reason", () => {
  const groups = [groupOf("a")];
  const only = { kl: points([1], [1]) };
  expect(linesOf(groups, byId(run("a", "step", only)), [LR]).nothing).toBe("No run has measured Learning rate.");
  expect(linesOf(groups, byId(run("a", "tokens", only)), [KL]).nothing).toBe(
    "No run has measured what the horizontal axis shows. Choose another axis.",
  );
});

test("two metrics of a run share its colour but not its dashes", () => {
  const runs = byId(run("a", "step", { kl: points([1], [1]), lr: points([1], [1]) }));
  const { lines } = linesOf([groupOf("a")], runs, [KL, LR]);
  expect(lines.map(({ key, label, colour, right }) => [key, label, colour, right])).toEqual([
    ["kl a", "a: KL", 0, false],
    ["lr a", "a: Learning rate", 8, true],
  ]);
});
