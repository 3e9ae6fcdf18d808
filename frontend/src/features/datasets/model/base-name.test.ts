import { expect, test } from "vitest";
import { baseName } from "@/features/datasets/model/base-name";

test.each([
  ["pairs.jsonl.gz", "pairs"],
  ["data/train-00000-of-00001.parquet", "train-00000-of-00001"],
  ["C:\\me\\my.pairs.csv", "my.pairs"],
  [".jsonl", ".jsonl"],
])("%s becomes %s", (filename, name) => expect(baseName(filename)).toBe(name));
