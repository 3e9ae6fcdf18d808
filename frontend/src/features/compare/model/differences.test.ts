import { describe, expect, it } from "vitest";
import { differences, flattened, grouped, looksOf } from "@/features/compare/model/differences";

const run = (id: string, spec: object) => ({ id, name: id.toUpperCase(), spec });

it("names nested fields by their path, and leaves out nulls", () =>
  expect([...flattened({ seed: 0, ppo: { kl: { coef: 0.1 }, stop: null }, rewards: [{ type: "length" }] })]).toEqual([
    ["seed", "0"],
    ["ppo.kl.coef", "0.1"],
    ["rewards", '[{"type":"length"}]'],
  ]));

describe("differences", () => {
  it("lists only the fields that differ", () =>
    expect(
      differences([
        { seed: 0, ppo: { steps: 5 } },
        { seed: 1, ppo: { steps: 5 } },
      ]),
    ).toEqual([{ path: "seed", values: ["0", "1"] }]));
  it("shows a field that one run lacks", () =>
    expect(differences([{}, { dpo: { beta: 0.1 } }])).toEqual([{ path: "dpo.beta", values: ["not set", "0.1"] }]));
  it("is empty for one run", () => expect(differences([{ seed: 3 }])).toEqual([]));
});

describe("grouped", () => {
  const runs = [run("a", { seed: 0, lr: 1 }), run("b", { seed: 1, lr: 1 }), run("c", { seed: 0, lr: 2 })];
  it("joins runs with the same value", () =>
    expect(grouped(runs, "lr").map(({ label, runs: own }) => [label, own.map(({ id }) => id).join("")])).toEqual([
      ["lr 1", "ab"],
      ["lr 2", "c"],
    ]));
  it("gives the runs of a group the colour of their line", () => {
    const lookOf = looksOf(runs, grouped(runs, "lr"));
    expect(runs.map(({ id }) => [lookOf(id).short.name, lookOf(id).colour])).toEqual([["A", 0], ["B", 0], ["C", 1]]); // prettier-ignore
  });
  it("keeps each run alone without a field", () =>
    expect(grouped(runs, null).map(({ label }) => label)).toEqual(["A", "B", "C"]));
});
