import { expect, test } from "vitest";
import { chartsOf } from "@/features/run/model/catalog";

const titles = (stage: string, ...names: string[]) => chartsOf(stage, names).map((chart) => chart.title);

test("only what the run measures is charted", () => {
  expect(titles("dpo", "loss", "rewards/chosen", "whatever")).toEqual(["Loss", "Implied rewards"]);
  expect(titles("evaluation", "win_rate")).toEqual([]);
});

test("of several rewards each has its chart, behind the score", () => {
  const names = ["objective/scores", "objective/kl", "reward/length", "reward/api", "reward/api/error_rate"];
  expect(titles("ppo", ...names)).toEqual(["Reward", "Reward: api", "Reward: length", "KL to the reference"]);
});

test("a single reward is the score itself", () => {
  expect(titles("ppo", "objective/scores", "reward/model")).toEqual(["Reward"]);
});
