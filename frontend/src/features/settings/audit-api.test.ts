import { expect, test } from "vitest";
import {
  type AuditRow,
  columnsOf,
  exportAddress,
  filterOf,
  startOfDay,
  summaryOf,
} from "@/features/settings/audit-api";
import { NO_VALUE } from "@/lib/format";

const row = (changes: AuditRow["changes"], status = 200, action = "list_keys") =>
  ({ action, changes, status }) as AuditRow;

test("days are whole, and other texts are no days", () => {
  const filter = filterOf(new URLSearchParams("tab=audit&since=2026-11-01&until=2026-11-30&actor=usr_a&action="));
  expect(filter).toEqual({ since: startOfDay("2026-11-01"), until: startOfDay("2026-12-01"), actor: "usr_a" });
  expect(filterOf(new URLSearchParams("since=yesterday"))).toEqual({});
});

test("an export has the filters of the page", () => {
  expect(exportAddress({ action: "create_job" }, "csv")).toBe("/v1/audit/export?action=create_job&format=csv");
});

test("a row is summed up in a few words", () => {
  const changed = { kind: "job", id: "job_a", before: { name: "a", tags: [] }, after: { name: "b", tags: ["c"] } };
  expect(columnsOf(changed)).toEqual(["name", "tags"]);
  expect(summaryOf(row([changed, changed]))).toBe("name, tags and 1 more");
  expect(summaryOf(row([{ ...changed, before: null }]))).toBe("made job");
  expect(summaryOf(row([{ ...changed, after: null }]))).toBe("deleted job");
  expect([summaryOf(row([])), summaryOf(row([], 403)), summaryOf(row([], 200, "sign_in"))]).toEqual([
    "read",
    "refused",
    NO_VALUE,
  ]);
});
