import { expect, test } from "vitest";
import { originText, rowsChange } from "@/features/datasets/model/origin-text";

test.each([
  [
    { type: "upload", filename: "pairs.jsonl.gz", format: "trl_explicit" },
    null,
    "Uploaded from pairs.jsonl.gz, read as trl explicit",
  ],
  [{ type: "upload", url: "hf://datasets/o/n", filename: "n.parquet" }, null, "Fetched from hf://datasets/o/n"],
  [{ type: "fix", findings: ["exact_duplicates", "ties"] }, 1, "Made from version 1 by fixing exact duplicates, ties"],
  [
    { type: "fix", findings: ["white_space"], dropped: 0, changed: 3 },
    2,
    "Made from version 2 by fixing white space, 3 rows changed",
  ],
  [{ type: "annotation", round: "ann_1" }, 2, "Judged by people in round ann_1"],
  [{}, null, "Unknown origin"],
])("%o", (origin, parent, text) => expect(originText(origin, parent)).toBe(text));

test.each([
  [988, 1000, "−12 rows"],
  [1001, 1000, "+1 row"],
  [5, 5, ""],
  [5, null, ""],
])("%s rows after %s", (rows, before, text) => expect(rowsChange(rows, before)).toBe(text));
