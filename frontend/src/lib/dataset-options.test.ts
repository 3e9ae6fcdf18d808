import { expect, test } from "vitest";
import { datasetOptions, whyBlocked } from "@/lib/dataset-options";
import type { Dataset } from "@/lib/api/types";

const dataset = (id: string, more: Partial<Dataset> = {}): Dataset =>
  ({
    id,
    name: "reviews",
    kind: "preferences",
    status: "ready",
    version: 1,
    rows: 1200,
    damage: null,
    created_at: "2026-11-24T09:00:00Z",
    ...more,
  }) as Dataset;

test("datasets of one name are told apart by day and id", () => {
  const two = [dataset("ds_aaaaaa111111"), dataset("ds_aaaaaa222222"), dataset("ds_b", { name: "other", rows: 1 })];
  expect(datasetOptions(two, ["preferences"]).map(({ label }) => label)).toEqual([
    "reviews (1,200 rows, version 1, added 2026-11-24, …111111)",
    "reviews (1,200 rows, version 1, added 2026-11-24, …222222)",
    "other (1 row, version 1)",
  ]);
});

test("a dataset that cannot be read comes last, with the reason", () => {
  const damaged = dataset("ds_a", { damage: "sha256 differs" });
  const found = datasetOptions([damaged, dataset("ds_b", { name: "good" })], ["preferences"]);
  expect(found.map(({ value, blocked }) => [value, blocked])).toEqual([
    ["ds_b", undefined],
    ["ds_a", "damaged: import its file again"],
  ]);
});

test.each([
  [{ kind: "sft" }, "holds sft, not preferences"],
  [{ status: "importing" }, "still being imported"],
  [{ status: "failed" }, "its import failed"],
  [{ status: "blocked" }, "has blocking findings"],
  [{ status: "importing", version: 2 }, null],
  [{}, null],
] as const)("%o is blocked: %s", (more, reason) =>
  expect(whyBlocked(dataset("ds_a", more as Partial<Dataset>), ["preferences"])).toBe(reason),
);
