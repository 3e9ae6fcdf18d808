import { expect, test } from "vitest";
import {
  conditionLabel,
  conditionText,
  isFieldColumn,
  nameOfColumn,
  suggestedColumns,
} from "@/features/jobs/model/fields";
import { rowsOf, statusesText } from "@/features/jobs/model/folding";
import type { JobSummary } from "@/lib/api/types";

test("a column of a field has a kind and a name", () => {
  expect(["spec:seed", "metric:reward/length", "kl", "spec:", "other:x"].map(isFieldColumn)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
  expect(nameOfColumn("metric:reward/length")).toBe("reward/length");
});

test("a condition is written for the server and for people", () => {
  const text = conditionText("spec:ppo.kl.coef", ">=", " 0.1 ");
  expect([text, conditionLabel(text)]).toEqual(["spec:ppo.kl.coef>=0.1", "ppo.kl.coef >= 0.1"]);
  expect(conditionLabel("metric:win_rate!=null")).toBe("win_rate != null");
});

test("columns are suggested by the listed jobs", () => {
  const job = { group: { values: { "sft.epochs": 1 } }, summary: { win_rate: 1 }, latest_metrics: { own: 2 } };
  const found = suggestedColumns([job, { ...job, folded: { metric: "reward/api" } }], ["objective/kl"]);
  expect(found[0]).toBe("spec:sft.epochs");
  expect(found.filter((one) => one.startsWith("metric"))).toEqual([
    "metric:reward/api",
    "metric:win_rate",
    "metric:own",
    "metric:objective/kl",
  ]);
});

test("an opened group has its jobs below it", () => {
  const job = (id: string, group: string | null = null) =>
    ({ id, folded: group && { group_id: group } }) as unknown as JobSummary;
  const jobs = [job("job_9", "grp_1"), job("job_8"), job("job_7", "grp_2")];
  const rows = rowsOf(jobs, new Map([["grp_1", [job("job_9", "grp_1"), job("job_1")]], ["grp_2", undefined]])); // prettier-ignore
  expect(rows.map(({ id, isNested }) => (isNested ? `- ${id}` : id))).toEqual([
    "grp_1",
    "- job_9",
    "- job_1",
    "job_8",
    "grp_2",
  ]);
  expect(rows[1]?.job.folded).toBeNull();
});

test("states are counted in words", () =>
  expect(statusesText({ succeeded: 24, failed: 3 })).toBe("24 succeeded, 3 failed"));
