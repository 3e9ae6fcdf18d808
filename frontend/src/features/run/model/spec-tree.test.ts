import { expect, test } from "vitest";
import { ABSENT, defaultsOf, pruned, type SpecNode, specTree } from "@/features/run/model/spec-tree";

const spec = {
  name: "run",
  ppo: { steps: 40, stop: [], kl: { coef: 0.1, target: 6 } },
  rewards: [{ type: "length", target: 8 }],
};
const defaults = { name: "", ppo: { steps: 100, stop: [], kl: { coef: 0.05, target: 6 } }, rewards: [], seed: 0 };

function fields(nodes: readonly SpecNode[]): [string, string, string | null][] {
  return nodes.flatMap((node) => (node.text === null ? fields(node.children) : [[node.path, node.text, node.other]]));
}

test("without a comparison every field has its value", () => {
  expect(fields(specTree(spec, undefined))).toEqual([
    ["name", "run", null],
    ["ppo.steps", "40", null],
    ["ppo.stop", "[]", null],
    ["ppo.kl.coef", "0.1", null],
    ["ppo.kl.target", "6", null],
    ["rewards.0.type", "length", null],
    ["rewards.0.target", "8", null],
  ]);
});

test("a comparison shows the other value where it differs, also of fields that one side lacks", () => {
  const tree = specTree(spec, defaults);
  expect(fields(pruned(tree, { text: "", differingOnly: true }))).toEqual([
    ["name", "run", '""'],
    ["ppo.steps", "40", "100"],
    ["ppo.kl.coef", "0.1", "0.05"],
    ["rewards.0.type", "length", ABSENT],
    ["rewards.0.target", "8", ABSENT],
    ["seed", ABSENT, "0"],
  ]);
  expect(tree.map(({ name, differing, fields: all }) => [name, differing, all])).toEqual([
    ["name", 1, 1],
    ["ppo", 2, 4],
    ["rewards", 2, 2],
    ["seed", 1, 1],
  ]);
});

test("a search finds values and names; a group's name shows all of it", () => {
  const tree = specTree(spec, undefined);
  const found = (text: string) => fields(pruned(tree, { text, differingOnly: false })).map(([path]) => path);
  expect(found("LENGTH")).toEqual(["rewards.0.type"]);
  expect(found("ppo.kl")).toEqual(["ppo.kl.coef", "ppo.kl.target"]);
  expect(found("nothing")).toEqual([]);
});

test("defaults come from the schema, through references", () => {
  const schema = {
    properties: {
      seed: { default: 0 },
      model: { $ref: "#/$defs/Model" },
      ppo: { $ref: "#/$defs/PPO", default: { steps: 100 } },
    },
    $defs: { Model: { properties: { path: {}, dtype: { default: "auto" } } }, PPO: { properties: {} } },
  };
  expect(defaultsOf(schema)).toEqual({ seed: 0, model: { dtype: "auto" }, ppo: { steps: 100 } });
});
