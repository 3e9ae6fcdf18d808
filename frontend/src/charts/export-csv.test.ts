import { expect, test } from "vitest";
import { csv } from "@/charts/export-csv";

const series = (steps: number[], values: number[]) => ({ steps, values, min: null, max: null });

test("csv has a row for each step and a column for each line", () => {
  const lines = [
    { key: "objective/kl", label: "training", series: { steps: [1, 2], values: [0.5, 0.25], min: null, max: null } },
    { key: "eval/kl", label: "held, out", series: { steps: [2, 4], values: [3, 4], min: [1, 2], max: [5, 6] } },
  ];
  expect(csv(lines, "step")).toBe(
    ["step,objective/kl,eval/kl,eval/kl min,eval/kl max", "1,0.5,,,", "2,0.25,3,1,5", "4,,4,2,6", ""].join("\n"),
  );
});

test("csv of another axis has the position of each step", () => {
  const lines = [
    {
      key: "job_1",
      label: "a",
      column: "First, of two",
      series: series([1, 2], [5, 6]),
      along: (step: number) => step * 10,
    },
    { key: "job_2", label: "b", series: series([1], [7]), along: (step: number) => step * 15 },
  ];
  expect(csv(lines, "tokens")).toBe(
    ['step,tokens,"First, of two",job_2', "1,10,5,", "1,15,,7", "2,20,6,", ""].join("\n"),
  );
});

test("csv of a mean on another axis has no steps", () => {
  const lines = [{ key: "kl", label: "mean", series: series([10], [5]), placed: true }];
  expect(csv(lines, "elapsed")).toBe("step,seconds,kl\n,10,5\n");
});

test("csv leaves the position of a step without one empty", () => {
  const lines = [
    { key: "loss", label: "", series: series([1, 2], [5, 6]), along: (step: number) => (step > 1 ? 3 : NaN) },
  ];
  expect(csv(lines, "metric:objective/kl")).toBe("step,objective/kl,loss\n2,3,6\n1,,5\n");
});
