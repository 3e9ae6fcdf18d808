import { expect, test } from "vitest";
import { leafText, readLeaf, standardText } from "@/features/job-form/model/leaf";
import {
  defaultsOf,
  fieldsOf,
  firstSentence,
  labelOf,
  type Leaf,
  leaves,
  optionalPaths,
} from "@/features/job-form/model/schema";
import type { JsonObject } from "@/features/job-form/model/spec";
import { readVariation, sweepOf, variationText } from "@/features/job-form/model/sweep";

const SCHEMA: JsonObject = {
  $defs: {
    Rule: { type: "object", properties: { limit: { type: "number", default: 0 } } },
    Lora: { type: "object", properties: { rank: { type: "integer", minimum: 1, default: 16 } } },
    Length: {
      type: "object",
      description: "A length.",
      properties: { type: { const: "length" }, target: { type: "integer" } },
    },
  },
  properties: {
    rate: { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1, default: 0.1, description: "How fast." },
    threads: { anyOf: [{ type: "integer" }, { const: "auto", type: "string" }], default: "auto" },
    clip: { anyOf: [{ type: "number" }, { type: "null" }], default: 0.2 },
    kind: { type: "string", enum: ["a", "b"], default: "a" },
    stop: { type: "array", items: { type: "string" }, default: [] },
    rule: { $ref: "#/$defs/Rule", default: { limit: 50 } },
    lora: { anyOf: [{ $ref: "#/$defs/Lora" }, { type: "null" }], default: null },
    rewards: { type: "array", items: { oneOf: [{ $ref: "#/$defs/Length" }] }, default: [] },
  },
};
const FIELDS = fieldsOf(SCHEMA);
const LEAVES = new Map(leaves(FIELDS).map((leaf) => [leaf.path, leaf]));
const leaf = (path: string): Leaf => LEAVES.get(path) as Leaf;

test("each field of the schema gets its kind", () => {
  expect(FIELDS.map((field) => (field.type === "leaf" ? field.kind : field.type))).toEqual([
    "number", "integer", "number", "choice", "texts", "group", "group", "variants",
  ]); // prettier-ignore
  expect([leaf("rate").bounds, leaf("threads").words, leaf("clip").nullable]).toEqual([
    "above 0 and below 1",
    ["auto"],
    true,
  ]);
});

test("the default of a section counts before that of its field", () => {
  const defaultOf = defaultsOf(FIELDS);
  expect([defaultOf("rule.limit"), defaultOf("lora"), defaultOf("lora.rank"), defaultOf("rewards")]).toEqual([
    50,
    null,
    16,
    [],
  ]);
  expect([...optionalPaths(FIELDS)]).toEqual(["lora"]);
});

test("the text of a field is read as its value", () => {
  expect(readLeaf(leaf("rate"), "3e-6")).toBe(3e-6);
  expect(readLeaf(leaf("threads"), "auto")).toBe("auto");
  expect(readLeaf(leaf("clip"), "none")).toBeNull();
  expect(readLeaf(leaf("stop"), "END, \\n")).toEqual(["END", "\\n"]);
  const numbers = { ...leaf("stop"), kind: "integers" } as const;
  expect(readLeaf(numbers, "1, 8")).toEqual([1, 8]);
  expect(readLeaf(numbers, "[1, 8]")).toEqual([1, 8]);
  expect(() => readLeaf(numbers, "1, b")).toThrow("“b” is no number. Enter a whole number.");
  expect(leafText(numbers, [1, 8])).toBe("1, 8");
  expect(readLeaf(leaf("rate"), " ")).toBeUndefined();
  expect(() => readLeaf(leaf("threads"), "2.5")).toThrow("Enter a whole number, or auto.");
  expect(leafText(leaf("stop"), ["a, b"])).toBe('["a, b"]');
  expect(standardText(leaf("clip"))).toBe("0.2");
});

test("names of fields for people", () =>
  expect(["max_new_tokens", "kl", "lr_schedule"].map(labelOf)).toEqual([
    "Max new tokens",
    "KL",
    "Learning rate schedule",
  ]));

test("variations are lists or ranges", () => {
  expect(readVariation(leaf("rate"), "1e-3, 0.01")).toEqual([1e-3, 0.01]);
  expect(readVariation(leaf("rate"), "1e-4 to 1e-2 log")).toEqual({
    distribution: "log_uniform",
    min: 1e-4,
    max: 1e-2,
  });
  expect(readVariation(leaf("threads"), "1..4")).toEqual({ distribution: "int", min: 1, max: 4 });
  expect(readVariation(leaf("kind"), "a, b")).toEqual(["a", "b"]);
  expect(() => readVariation(leaf("rate"), "1 to 0")).toThrow("the smaller number first");
  expect(() => readVariation(leaf("rate"), "1,,3")).toThrow("Value 2 is empty.");
  expect(readVariation(leaf("rate"), "1, 3, ")).toEqual([1, 3]);
  expect(() => readVariation(leaf("rate"), " , ")).toThrow(/^(Write values as 1, 2, 3|Value 1 is empty)/);
});

test("a value with commas is varied as one", () => {
  const stop = ["END", "a, b"];
  expect(variationText(leaf("stop"), stop)).toBe('[["END","a, b"]]');
  expect(readVariation(leaf("stop"), variationText(leaf("stop"), stop))).toEqual([stop]);
  expect(readVariation(leaf("stop"), '[["a"], ["b", "c"]]')).toEqual([["a"], ["b", "c"]]);
  expect(readVariation(leaf("clip"), "[null, 0.2]")).toEqual([null, 0.2]);
  expect(readVariation(leaf("rate"), variationText(leaf("rate"), 0.1))).toEqual([0.1]);
  expect(() => readVariation(leaf("rate"), '[0.1, "fast"]')).toThrow("“fast” is no number.");
  expect(() => readVariation(leaf("stop"), '[["a"], 1]')).toThrow("1 is no value of this field.");
});

test("the number of jobs of a sweep", () => {
  const grid = { rate: "0.1, 0.2, 0.3", kind: "a, b" };
  expect(sweepOf(grid, LEAVES, null).jobs).toBe(6);
  expect(sweepOf({ rate: "0.1 to 0.2" }, LEAVES, null)).toMatchObject({ jobs: null, isRandom: true });
  expect(sweepOf({ rate: "0.1 to 0.2" }, LEAVES, 4).jobs).toBe(4);
  expect(sweepOf({ rate: "fast" }, LEAVES, null).faults).toEqual({
    rate: { fault: "“fast” is no number. Enter a number." },
  });
});

test("a reference does not end the first sentence", () => {
  expect(firstSentence("Mean 0 (Stiennon et al. 2020), or unchanged. `none` keeps odds.")).toBe(
    "Mean 0 (Stiennon et al. 2020), or unchanged.",
  );
});
