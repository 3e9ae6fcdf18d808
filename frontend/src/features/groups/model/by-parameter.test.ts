import { expect, test } from "vitest";
import { byParameter } from "@/features/groups/model/by-parameter";

const run = (values: Record<string, unknown>, objective: number | null) => ({ values, objective });

test("the objectives of a value have a mean and an interval", () => {
  const [row] = byParameter([run({ lr: 1 }, 1), run({ lr: 1 }, 3), run({ lr: 1 }, null)], "lr");
  expect(row).toMatchObject({ text: "1", n: 2, runs: 3, mean: 2 });
  expect(row?.half).toBeCloseTo(12.706); // t · √2 / √2
});

test("one run has no interval, and none no mean", () => {
  const found = byParameter([run({ lr: 1 }, 4), run({ lr: 2 }, null)], "lr");
  expect(found.map(({ mean, half }) => [mean, half])).toEqual([[4, null], [null, null]]); // prettier-ignore
});

test("values follow by size, then null and texts, runs without the parameter last", () => {
  const values = [{}, { lr: "auto" }, { lr: 10 }, { lr: null }, { lr: 9 }];
  expect(byParameter(values.map((one) => run(one, 1)), "lr").map(({ text }) => text)).toEqual([ // prettier-ignore
    "9", "10", "auto", "null", "not set",
  ]); // prettier-ignore
});
