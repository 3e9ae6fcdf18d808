/** A spec is the same as JSON, as TOML, as a command and in the form, over every field of the API's schema. */
import { expect, test } from "vitest";
import { commandFor, jsonOf, readSpec, tomlOf } from "@/features/job-form/model/exchange";
import { leafText, readLeaf } from "@/features/job-form/model/leaf";
import { defaultsOf, fieldsOf, type Leaf, leaves, withoutDefaults } from "@/features/job-form/model/schema";
import { type Json, type JsonObject, mergePatch, same, valueAt, withValue } from "@/features/job-form/model/spec";
// eslint-disable-next-line no-restricted-imports -- a file outside of src
import api from "../../../../openapi.json";

const ROOT = api as unknown as JsonObject;
const FIELDS = fieldsOf(ROOT, (api.components.schemas as unknown as JsonObject).JobSpec as JsonObject);
const LEAVES = leaves(FIELDS);

/** Numbers in [0, 1) by a linear congruential generator (Numerical Recipes), so that every run draws the same. */
function drawing(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

const TEXTS = [
  "a", "it's", 'say "hi"', '"', '""', '"none"', "none", "null", "true", "1e-5", "", " ", " x ", "a, b", "two\nlines", "[1]",
  "END", "'''", '"""', "\\d+\t#", "ünï 😀", "\u007f\u0000", "a.b", "nan", "{ null = true }", "null_",
]; // prettier-ignore
const NUMBERS = [0, 1, -1, 1e-5, 1e-7, 0.1, 1e20, 1e22, 2 ** 53 - 1, 123456789, -2.5e-300];
const JSONS: Json[] = [
  {}, [], null, { null: true }, { null: [true] }, { null: [[true]] }, { null: null }, { "a.b": { "": [] } }, "none", "x", 1.5,
  { properties: { null: true, a: { enum: [null, "a", { null: true }] } } }, [{ a: null }, { a: [] }], [[], [null]],
]; // prettier-ignore

function valuesOf(leaf: Leaf): Json[] {
  const words: Json[] = [...leaf.words, ...(leaf.nullable ? [null] : [])];
  if (leaf.kind === "number") return [...words, ...NUMBERS];
  if (leaf.kind === "integer") return [...words, ...NUMBERS.filter(Number.isSafeInteger)];
  if (leaf.kind === "boolean") return [true, false];
  if (leaf.kind === "choice")
    return [...words, ...leaf.choices.map((one) => (one === "true" ? true : one === "false" ? false : one))];
  if (leaf.kind === "integers") return [...words, [], [3], [1, 8]];
  if (leaf.kind === "texts") return [...words, [], ["none"], ...TEXTS.map((one) => [one, "b"])];
  return [...words, ...(leaf.kind === "text" ? TEXTS : JSONS)];
}

function drawn(seed: number): JsonObject {
  const next = drawing(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  const values: JsonObject = { name: pick(TEXTS), rewards: [{ type: "json_schema", json_schema: pick(JSONS) }] };
  return Array.from({ length: 1 + Math.floor(next() * 20) }, () => pick(LEAVES)).reduce(
    (spec, leaf) => withValue(spec, leaf.path, pick(valuesOf(leaf))),
    values,
  );
}

const SEEDS = Array.from({ length: 200 }, (_, seed) => seed);

test("the schema has nullable fields whose default is a number", () => {
  const dropped = LEAVES.filter(({ nullable, standard }) => nullable && typeof standard === "number");
  expect(dropped.map(({ path }) => path)).toContain("ppo.critic.value_clip_range");
  expect(LEAVES.length).toBeGreaterThan(150);
});

test("a schedule that follows the KL stays beside the rate that it began with", () => {
  const ppo = { learning_rate: 1e-4, lr_schedule: "kl_adaptive" };
  expect(withoutDefaults({ ppo }, FIELDS)).toEqual({ ppo });
});

test("every value of every field is read back from its input", () => {
  const lost = LEAVES.flatMap((leaf) =>
    valuesOf(leaf)
      .filter((value) => !same(readLeaf(leaf, leafText(leaf, value)), value))
      .map((value) => `${leaf.path} (${leaf.kind}): ${JSON.stringify(value)}`),
  );
  expect(lost).toEqual([]);
});

test.each([tomlOf, (spec: JsonObject) => Promise.resolve(jsonOf(spec))])(
  "a spec is read back from its text",
  async (write) => {
    for (const seed of SEEDS) {
      const spec = drawn(seed);
      expect(await readSpec(await write(spec)), `seed ${seed}`).toEqual(spec);
    }
  },
);

test("a spec is read back from the command line's file", async () => {
  for (const seed of SEEDS) {
    const spec = drawn(seed);
    const text = commandFor("cli", "http://h", { path: "/v1/jobs", body: spec }, await tomlOf(spec));
    const [, file = ""] = /^cat > spec.toml <<'END'\n(.*?)\nEND\nproximal jobs submit spec.toml$/s.exec(text) ?? [];
    expect(await readSpec(file), `seed ${seed}`).toEqual(spec);
  }
});

test("the patch of a clone gives the spec of the form", () => {
  for (const seed of SEEDS) {
    const [before, after] = [drawn(seed), drawn(seed + 1)];
    expect(merged(before, mergePatch(before, after)), `seed ${seed}`).toEqual(after);
  }
});

test("an import leaves out defaults alone", () => {
  const spec = { seed: 0, ppo: { steps: 7, critic: { value_clip_range: { null: true } } } };
  expect(withoutDefaults(spec, FIELDS)).toEqual({ ppo: { steps: 7, critic: { value_clip_range: null } } });
  const odd = JSON.parse(
    '{"ppo.steps": 100, "__proto__": {"x": 1}, "model": {"config": {"a": {}, "b": {"null": true}}, "lora": {"rank": 16}}}',
  ) as JsonObject;
  const kept = '{"ppo.steps":100,"__proto__":{"x":1},"model":{"config":{"a":{},"b":{"null":true}},"lora":{}}}';
  expect(JSON.stringify(withoutDefaults(odd, FIELDS))).toBe(kept);
});

test("an import changes the values of no field", () => {
  const defaultOf = defaultsOf(FIELDS);
  const valueIn = (spec: JsonObject, path: string) => {
    const value = valueAt(spec, path);
    return value === undefined ? defaultOf(path) : value;
  };
  for (const seed of SEEDS) {
    const spec = drawn(seed);
    const kept = withoutDefaults(spec, FIELDS);
    const changed = LEAVES.filter(({ path }) => !same(valueIn(spec, path), valueIn(kept, path)));
    expect(
      changed.map(({ path }) => path),
      `seed ${seed}`,
    ).toEqual([]);
  }
});

/** The merge of the server: RFC 7396, and the notation of null. */
function merged(target: Json | undefined, patch: Json): Json | undefined {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const text = JSON.stringify(patch);
  if (text === '{"null":true}') return null;
  if (/^\{"null":\[+true\]+\}$/.test(text)) return { null: (patch.null as Json[])[0] ?? null };
  const before = typeof target === "object" && target !== null && !Array.isArray(target) ? target : {};
  const made = new Map(Object.entries(before));
  for (const [name, value] of Object.entries(patch)) {
    const inner = value === null ? undefined : merged(made.get(name), value);
    if (inner === undefined) made.delete(name);
    else made.set(name, inner);
  }
  return Object.fromEntries(made);
}
