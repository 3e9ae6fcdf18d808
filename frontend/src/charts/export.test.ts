import { expect, test } from "vitest";
import { csv } from "@/charts/export";

test("csv has a row for each step and a column for each line", () => {
  const lines = [
    { key: "objective/kl", label: "training", series: { steps: [1, 2], values: [0.5, 0.25], min: null, max: null } },
    { key: "eval/kl", label: "held, out", series: { steps: [2, 4], values: [3, 4], min: [1, 2], max: [5, 6] } },
  ];
  expect(csv(lines)).toBe(
    ["step,objective/kl,eval/kl,eval/kl min,eval/kl max", "1,0.5,,,", "2,0.25,3,1,5", "4,,4,2,6", ""].join("\n"),
  );
});
