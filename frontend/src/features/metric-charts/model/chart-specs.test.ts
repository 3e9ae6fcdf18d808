import { expect, test } from "vitest";
import { chartSpecs } from "@/features/metric-charts/model/chart-specs";
import { byName } from "@/features/metric-charts/model/meanings";

const metric = (name: string, title: string, order: number, line = "", scale: "left" | "right" = "left") => ({
  name,
  label: name,
  chart: { title, order, line, scale },
});

const TABLE = [
  metric("objective/kl", "KL", 50, "training"),
  metric("eval/kl", "KL", 51, "held out", "right"),
  metric("objective/scores", "Reward", 10),
  metric("reward/<name>", "Reward: <name>", 20),
  { name: "val/ratio", label: "Ratio", chart: null },
];

const specs = (...names: string[]) => chartSpecs(byName(TABLE, names), names);
const titles = (...names: string[]) => specs(...names).map((chart) => chart.title);

test("only measured metrics with a chart are charted", () => {
  expect(titles("objective/kl", "val/ratio", "unknown")).toEqual(["KL"]);
});

test("metrics with one title are lines of one chart, in their order", () => {
  expect(specs("eval/kl", "objective/kl")).toEqual([
    {
      title: "KL",
      lines: [
        { name: "objective/kl", short: "training", right: false },
        { name: "eval/kl", short: "held out", right: true },
      ],
    },
  ]);
});

test("several rewards have a chart each, behind the score", () => {
  const names = ["objective/kl", "reward/length", "objective/scores", "reward/api", "reward/api/error_rate"];
  expect(titles(...names)).toEqual(["Reward", "Reward: api", "Reward: length", "KL"]);
});

test("a single reward has no chart of its own", () => {
  expect(titles("objective/scores", "reward/model")).toEqual(["Reward"]);
});
