import { expect, test } from "vitest";
import { sectionsOf } from "@/features/job-form/model/layout";
import { fieldsOf } from "@/features/job-form/model/schema";
import type { JsonObject } from "@/features/job-form/model/spec";

const number = { type: "number", default: 1 };
const section = (properties: JsonObject) => ({ type: "object", properties });
const FIELDS = fieldsOf({
  properties: {
    data: section({ prompts: { type: "string", "x-dataset": "prompts" }, eval_fraction: number }),
    ppo: section({ steps: { ...number, "x-form": "main" }, adam_eps: number }),
    new_section: section({ size: number }),
    seed: { ...number, "x-form": "main" },
    name: { type: "string", "x-form": "own" },
  },
});

test("facts of the schema place the fields of the form", () => {
  const shown = sectionsOf(FIELDS, ["ppo"]).map(({ id, main, rare }) => [
    id,
    main.map(({ path }) => path),
    rare.map(({ path }) => path),
  ]);
  expect(shown.filter(([, main, rare]) => main?.length || rare?.length)).toEqual([
    ["data", [], ["data.eval_fraction"]],
    ["ppo", ["ppo.steps"], ["ppo.adam_eps"]],
    ["machine", ["seed"], ["new_section.size"]],
  ]);
});
