import { expect, test } from "vitest";
import * as code from "@/charts/origin";
import { placedMarks, placedOn } from "@/features/run/model/use-placed";

const points = (steps: number[], values: number[]) => ({ steps, values, min: null, max: null });
const seconds = (steps: number[]) => ({
  "time/step": points(
    steps,
    steps.map(() => 10),
  ),
});
const run = (steps: number[]) => ({ seed: null, counts: true, log: [], series: seconds(steps) });
const ancestor = (steps: number[], to: number) => ({ key: `${to}`, label: "", to, log: [], series: seconds(steps) });

test("a branch goes on at the time at which its ancestors end", () => {
  const { runs, history } = placedOn(code, "elapsed", "ppo", [run([4, 5])], [ancestor([1, 2], 2), ancestor([3], 3)]);
  expect(history.map(({ placement, to }) => placement?.along?.(to ?? 0))).toEqual([20, 30]);
  expect(runs[0]?.placement?.along?.(5)).toBe(50);
});

test("a mark is placed by the steps of its seed", () => {
  const { runs } = placedOn(
    code,
    "elapsed",
    "ppo",
    [
      { ...run([1, 2]), seed: 7 },
      { ...run([2, 4]), seed: 8 },
    ],
    [],
  );
  const mark = { step: 2, kind: "finding", text: "KL" } as const;
  expect(placedMarks([mark, { ...mark, seed: 8 }], runs).map(({ at }) => at)).toEqual([20, 10]);
});

test("a mark without a place on the axis is left out", () => {
  const { runs } = placedOn(code, "metric:lr", "ppo", [run([1, 2])], []);
  expect(placedMarks([{ step: 2, kind: "checkpoint", text: "Checkpoint" }], runs)).toEqual([]);
});
