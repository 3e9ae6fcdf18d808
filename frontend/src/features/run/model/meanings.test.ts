import { expect, test } from "vitest";
import { byName, labelsOf } from "@/features/run/model/meanings";

const METRICS = [
  { name: "lr", label: "Learning rate", chart: null },
  { name: "reward/<name>", label: "Reward: <name>", chart: { title: "Reward: <name>" } },
  { name: "reward/<name>/error_rate", label: "Failed requests: <name>", chart: null },
];

test("one description stands for every reward", () => {
  const found = byName(METRICS, ["lr", "reward/length", "reward/api/error_rate", "unknown", "reward/", "reward/a/b"]);
  const labels = ["lr", "reward/length", "reward/api/error_rate"].map((name) => found.get(name)?.label);
  expect(labels).toEqual(["Learning rate", "Reward: length", "Failed requests: api"]);
  expect(found.get("reward/length")?.chart?.title).toBe("Reward: length");
  expect(["unknown", "reward/", "reward/a/b"].filter((name) => found.has(name))).toEqual([]);
});

test.each([
  ["ppo", "objective/kl", "KL to the reference"],
  ["ppo", "kl", "Held-out KL"],
  ["ppo", "win_rate", "Win rate"],
  ["ppo", "best_step", "Best step"],
  [null, "win_rate", "Win rate"],
])("stage %s calls %s %s", (stage, name, label) =>
  expect(
    labelsOf([
      { stage: "ppo", name: "objective/kl", label: "KL to the reference" },
      { stage: "ppo", name: "eval/kl", label: "Held-out KL" },
      { stage: "evaluation", name: "win_rate", label: "Win rate" },
    ])(stage, name),
  ).toBe(label),
);
