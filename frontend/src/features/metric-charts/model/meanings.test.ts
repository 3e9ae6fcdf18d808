import { expect, test } from "vitest";
import { byName } from "@/features/metric-charts/model/meanings";

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
