import { expect, test } from "vitest";
import { fieldName, shortNames, shortValue, sweepName } from "@/lib/names";

const short = (...names: string[]) =>
  shortNames(names.map((name, index) => ({ id: `job_aaaaa${index}`, name }))).map(({ name }) => name);

test.each([
  [
    ["KL and learning rate 1: lr=0.1", "KL and learning rate 2: lr=0.1", "Tiny"],
    ["…1: lr=0.1", "…2: lr=0.1", "Tiny"],
  ],
  [
    ["baseline-with-clipping-3", "baseline-with-clipping", "baseline-with-decay"],
    ["…clipping-3", "…clipping", "…decay"],
  ],
  [
    ["A run", "A rung"],
    ["A run", "A rung"],
  ],
  [
    ["Twice", "Twice", ""],
    ["Twice (aaaaa0)", "Twice (aaaaa1)", "Unnamed job"],
  ],
  [
    ["One long beginning: a", "One long beginning: b", "Another beginning: a", "Another beginning: b"],
    ["One long beginning: a", "One long beginning: b", "Another beginning: a", "Another beginning: b"],
  ],
])("%j are told apart as %j", (names, expected) => expect(short(...names)).toEqual(expected));

test("a run of a sweep is named by what differs", () => {
  const values = { "ppo.learning_rate": 0.001, "sft.learning_rate": 1e-7, "model.path": "a/b" };
  expect(sweepName({ name: "KL 3: ppo.learning_rate=0.001, sft.learning_rate=1e-07" }, values)).toEqual({
    name: "KL 3",
    values: ["ppo.learning_rate 0.001", "sft.learning_rate 1e-7", "model.path a/b"],
  });
  expect(sweepName({ name: "KL 3: ppo.kl.coef=0.1, seed=2" }, { seed: 2, "ppo.kl.coef": 0.1 }).name).toBe("KL 3");
  expect(sweepName({ name: "my own" }, { "ppo.steps": 5 })).toEqual({ name: "my own", values: ["ppo.steps 5"] });
  expect(sweepName({ name: "" }, { "ppo.policy_loss.clip_range": 1 }).values).toEqual(["clip_range 1"]);
  expect(sweepName({ name: "" })).toEqual({ name: "Unnamed job", values: [] });
});

const swept = (number: number, values: Readonly<Record<string, unknown>>, sweep = "KL") => ({
  id: `job_${sweep}_${number}`,
  name: `${sweep} and learning rate ${number}: ${Object.entries(values)
    .map(([path, value]) => `${path}=${String(value)}`)
    .join(", ")}`,
  group: { group_id: sweep, values },
});

test("runs of one sweep are named by the fields in which they differ here", () =>
  expect(
    shortNames([
      swept(9, { "ppo.learning_rate": 0.001, "ppo.kl.coef": 0.1 }),
      swept(10, { "ppo.learning_rate": 0.001, "ppo.kl.coef": 0.2 }),
    ]),
  ).toEqual([
    { name: "…9", values: ["kl.coef 0.1"], brief: "…9: 0.1" },
    { name: "…10", values: ["kl.coef 0.2"], brief: "…10: 0.2" },
  ]));

test("a run whose sweep is not compared has all its fields", () =>
  expect(
    shortNames([
      swept(1, { "ppo.learning_rate": 1e-5, seed: 3 }),
      swept(1, { "ppo.learning_rate": 1e-5, seed: 3 }, "DPO"),
    ]),
  ).toEqual([
    { name: "KL and learning rate 1", values: ["learning_rate 0.00001", "seed 3"], brief: "KL and learning rate 1: 0.00001, 3" }, // prettier-ignore
    { name: "DPO and learning rate 1", values: ["learning_rate 0.00001", "seed 3"], brief: "DPO and learning rate 1: 0.00001, 3" }, // prettier-ignore
  ]));

test("forty runs of one sweep have forty names", () => {
  const runs = Array.from({ length: 40 }, (_, index) => swept(index + 1, { "ppo.kl.coef": index / 100 }));
  expect(shortNames(runs)[39]).toEqual({ name: "…40", values: ["kl.coef 0.39"], brief: "…40: 0.39" });
  expect(new Set(shortNames(runs).map(({ brief }) => brief)).size).toBe(40);
});

test.each([
  ["ppo.kl.coef", "kl.coef"],
  ["ppo.learning_rate", "learning_rate"],
  ["seed", "seed"],
])("the field %s is called %s", (path, name) => expect(fieldName(path)).toBe(name));

test.each([
  [0.0000029252898247025995, "2.925e-6"],
  [0.123456789, "0.1235"],
  [0.00001, "0.00001"],
  [1234567890, "1234567890"],
  ["linear", "linear"],
  [null, "null"],
])("the value %j is shown as %j", (value, expected) => expect(shortValue(value)).toBe(expected));
