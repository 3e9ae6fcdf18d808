import { expect, test } from "vitest";
import { forEach } from "@/features/jobs/model/bulk";
import { filterOf, nextSort, readChoice, writeChoice } from "@/features/jobs/model/choice";
import { readColumns, sorted } from "@/features/jobs/model/columns";
import { readViews, withView } from "@/features/jobs/model/views";

test("an address says which jobs are listed, and comes back the same", () => {
  const address = "q=kl+sweep&status=running&status=failed&tag=a&tag=b&archived=1&sort=-kl";
  const choice = readChoice(new URLSearchParams(address));
  expect(choice).toEqual({
    search: "kl sweep",
    statuses: ["running", "failed"],
    tags: ["a", "b"],
    archived: true,
    sort: { by: "kl", isDescending: true },
  });
  expect(writeChoice(choice).toString()).toBe(address);
  expect(filterOf(choice)).toEqual({
    text: "kl sweep",
    status: ["running", "failed"],
    tag: ["a", "b"],
    archived: true,
  });
});

test("invalid parameters of an address count as absent", () => {
  const choice = readChoice(new URLSearchParams("status=odd&sort=tags&archived=yes&tag="));
  expect(writeChoice(choice).toString()).toBe("");
  expect(filterOf(choice)).toEqual({});
});

test("a column's head sorts down, up and not at all; the name starts with A", () => {
  expect(nextSort(null, "kl")).toEqual({ by: "kl", isDescending: true });
  expect(nextSort({ by: "kl", isDescending: true }, "kl")).toEqual({ by: "kl", isDescending: false });
  expect(nextSort({ by: "kl", isDescending: false }, "kl")).toBeNull();
  expect(nextSort({ by: "kl", isDescending: false }, "name")).toEqual({ by: "name", isDescending: false });
});

const job = (name: string, kl: number | null, started: string | null = null) => ({
  name,
  model: null,
  submitted_by: null,
  gpu_hours: kl ?? 0,
  status: "running" as const,
  progress: null,
  reward_sparkline: [],
  summary: kl === null ? null : { kl },
  latest_metrics: {},
  group: null,
  created_at: "2026-01-01T00:00:00Z",
  started_at: started,
  finished_at: null,
});
const names = (jobs: readonly { name: string }[]) => jobs.map(({ name }) => name);

test("jobs without a value come last in both directions", () => {
  const jobs = [job("none", null), job("low", 1.5), job("high", 20)];
  expect(names(sorted(jobs, { by: "kl", isDescending: true }, 0))).toEqual(["high", "low", "none"]);
  expect(names(sorted(jobs, { by: "kl", isDescending: false }, 0))).toEqual(["low", "high", "none"]);
  expect(names(sorted(jobs, { by: "gpu_hours", isDescending: false }, 0))).toEqual(["none", "low", "high"]);
  expect(names(sorted(jobs, null, 0))).toEqual(["none", "low", "high"]);
});

test("a running job has lasted since its start", () => {
  const jobs = [job("new", 1, "2026-01-01T00:00:50Z"), job("old", 1, "2026-01-01T00:00:10Z"), job("waits", 1)];
  const now = Date.parse("2026-01-01T00:01:00Z");
  expect(names(sorted(jobs, { by: "duration", isDescending: true }, now))).toEqual(["old", "new", "waits"]);
});

test("stored columns keep the order of the table, and unknown ones are left out", () => {
  expect(readColumns("kl,status,odd")).toEqual(["status", "kl"]);
  expect(readColumns("")).toEqual([]);
  expect(readColumns(null)).toEqual(["status", "progress", "reward", "tags", "created", "duration"]);
  expect(readColumns(null, true)).toContain("gpu_hours");
  expect(readColumns("kl", true)).toEqual(["kl"]);
});

test("a stored text that holds no views gives none", () => {
  const view = { name: "mine", query: "tag=a", columns: ["kl"] as const };
  expect(readViews(JSON.stringify([view, { name: 3 }, null]))).toEqual([view]);
  expect(readViews("{")).toEqual([]);
  expect(readViews("{}")).toEqual([]);
  expect(withView([view], { ...view, query: "tag=b" })).toEqual([{ ...view, query: "tag=b" }]);
});

test("a refusal of one job does not stop the others", async () => {
  const jobs = [
    { id: "job_1", name: "one" },
    { id: "job_2", name: "" },
    { id: "job_3", name: "three" },
  ];
  const request = (id: string) => (id === "job_2" ? Promise.reject(new Error("The job runs.")) : Promise.resolve());
  expect(await forEach(jobs, request)).toEqual({
    done: ["job_1", "job_3"],
    failed: [{ name: "job_2", reason: "The job runs." }],
  });
});
