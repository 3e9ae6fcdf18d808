import { expect, test } from "vitest";
import { fileName, localFiles, withDatasets } from "@/features/job-form/model/local-files";

const SPEC = {
  data: { sft: "data/sft.jsonl", preferences: "ds_abc@2", evaluation_prompts: "C:\\p.csv", eval_fraction: 0.2 },
};

test("files are told from datasets, with the kind of their role", () => {
  expect(localFiles(SPEC)).toEqual([
    { role: "sft", kind: "sft", file: "data/sft.jsonl" },
    { role: "evaluation_prompts", kind: "prompts", file: "C:\\p.csv" },
  ]);
  expect(localFiles({ data: { sft: null } })).toEqual([]);
  expect(localFiles({ model: "m" })).toEqual([]);
});

test("a path of either system ends with the file's name", () => {
  expect([fileName("data/sft.jsonl"), fileName("C:\\p.csv"), fileName("a.csv")]).toEqual([
    "sft.jsonl",
    "p.csv",
    "a.csv",
  ]);
});

test("datasets take the place of the files of their roles", () => {
  expect(withDatasets(SPEC, { sft: "ds_new" })).toEqual({ data: { ...SPEC.data, sft: "ds_new" } });
});
