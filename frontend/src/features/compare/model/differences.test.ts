import { describe, expect, it } from "vitest";
import { differences, flattened, grouped, looksOf, namedSpecs } from "@/features/compare/model/differences";
import type { Job } from "@/lib/api/types";

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

describe("specs with names", () => {
  const of = (id: string, hash: string, name: string | null, more: object = {}) => {
    const value = `${id}@sha256:${hash}`;
    const input = { field: "data.preferences", value, kind: "dataset" as const, name, id, job: null };
    return { spec: { data: { preferences: value }, ...more } as unknown as Job["spec"], inputs: [input] };
  };
  const texts = (...runs: ReturnType<typeof of>[]) =>
    namedSpecs(runs).map((spec) => flattened(spec).get("data.preferences"));

  it("datasets of the same rows are equal", () =>
    expect(texts(of("ds_a", "11", "reviews, version 1"), of("ds_b", "11", "copy, version 4"))).toEqual([
      "reviews, version 1 = copy, version 4",
      "reviews, version 1 = copy, version 4",
    ]));
  it("datasets of one name and other rows differ", () =>
    expect(texts(of("ds_a", "1111", "reviews, version 1"), of("ds_b", "2222", "reviews, version 1"))).toEqual([
      "reviews, version 1 (rows 1111)",
      "reviews, version 1 (rows 2222)",
    ]));
  it("a deleted dataset has the name of another one with its rows", () =>
    expect(texts(of("ds_a", "11", null), of("ds_b", "11", "copy, version 1"), of("ds_c", "22", null))).toEqual([
      "copy, version 1",
      "copy, version 1",
      "a deleted dataset",
    ]));
});

it("groups are in the order of their numbers, runs without the field last", () => {
  const runs = [run("a", {}), run("b", { lr: 1e-5 }), run("c", { lr: "auto" }), run("d", { lr: 2e-6 })];
  expect(grouped(runs, "lr").map(({ short }) => short)).toEqual(["lr 0.000002", "lr 0.00001", "lr auto", "lr not set"]);
});

it("runs are grouped by the specs that are compared", () => {
  const runs = [run("a", { data: "ds_1" }), run("b", { data: "ds_2" })];
  expect(grouped(runs, "data", [{ data: "reviews" }, { data: "reviews" }])).toHaveLength(1);
});
