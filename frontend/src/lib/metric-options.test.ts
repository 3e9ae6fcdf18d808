import { expect, test } from "vitest";
import { labelsOf } from "@/lib/labels";
import { labelOfAny, metricOptions, metricsOfSpec } from "@/lib/metric-options";

const METRICS = [
  { stage: "ppo", name: "objective/scores", label: "Score" },
  { stage: "ppo", name: "reward/<name>", label: "Reward <name>" },
  { stage: "evaluation", name: "win_rate", label: "Win rate" },
  { stage: "sft", name: "loss", label: "Loss" },
] as const;
const labelOf = labelsOf(METRICS);

test("a metric has the label of its stage, an unknown one its name", () => {
  const names = ["win_rate", "reward/length", "loss", "own/figure"];
  expect(names.map((name) => labelOfAny(METRICS, labelOf, name))).toEqual([
    "Win rate",
    "Reward length",
    "Loss",
    "own/figure",
  ]);
});

test("options begin with the score and name each metric once", () =>
  expect(metricOptions(METRICS, labelOf, ["own", "loss", "objective/scores", "own"])).toEqual([
    { value: "objective/scores", label: "Score (objective/scores)" },
    { value: "loss", label: "Loss (loss)" },
    { value: "own", label: "own" },
  ]));

test("a spec has the metrics of its stages and rewards", () => {
  const spec = { stages: ["ppo"], rewards: [{ type: "length" }, { type: "http", name: "api" }, null] };
  expect(metricsOfSpec(METRICS, spec)).toEqual(["objective/scores", "reward/length", "reward/api"]);
});
