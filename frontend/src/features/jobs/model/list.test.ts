import { expect, test } from "vitest";
import { forEach } from "@/features/jobs/model/bulk";
import { filterOf, isFiltered, readChoice, writeChoice } from "@/features/jobs/model/choice";
import { asSort, orderedColumns, readColumns, sortsFor, withMoved } from "@/features/jobs/model/columns";
import { readViews, withView } from "@/features/jobs/model/views";

test("an address says which jobs are listed, and comes back the same", () => {
  const address =
    "q=kl+sweep&status=running&status=failed&health=error&health=none&tag=a&tag=b&archived=1&where=metric%3Akl%3C2&flat=1&sort=-kl";
  const choice = readChoice(new URLSearchParams(address));
  expect(choice).toEqual({
    search: "kl sweep",
    statuses: ["running", "failed"],
    health: ["error", "none"],
    tags: ["a", "b"],
    archived: true,
    where: ["metric:kl<2"],
    flat: true,
    sort: "-kl",
  });
  expect(writeChoice(choice).toString()).toBe(address);
  expect(filterOf(choice)).toEqual({
    text: "kl sweep",
    status: ["running", "failed"],
    health: ["error", "none"],
    tag: ["a", "b"],
    archived: true,
    where: ["metric:kl<2"],
    sort: "-kl",
  });
  expect(isFiltered(readChoice(new URLSearchParams("sort=-kl")))).toBe(false);
});

test("invalid parameters of an address count as absent", () => {
  const choice = readChoice(new URLSearchParams("status=odd&health=ill&sort=tags&archived=yes&tag="));
  expect(writeChoice(choice).toString()).toBe("");
  expect(filterOf(choice)).toEqual({ fold: true });
  expect(isFiltered(choice)).toBe(false);
});

test("stored columns keep their order, and unknown ones are left out", () => {
  expect(readColumns("kl,status,odd,kl")).toEqual(["kl", "status"]);
  expect(readColumns("")).toEqual([]);
  expect(readColumns(null)).toEqual(["status", "progress", "reward", "health", "tags", "created", "duration"]);
  expect(readColumns(null, true)).toContain("gpu_hours");
  expect(readColumns("kl", true)).toEqual(["kl"]);
});

test("fields and metrics are columns and orders", () => {
  const columns = readColumns("spec:ppo.kl.coef,kl,metric:reward/length,spec:");
  expect(columns).toEqual(["spec:ppo.kl.coef", "kl", "metric:reward/length"]);
  expect(orderedColumns(columns)).toContain("spec:ppo.kl.coef");
  expect([asSort("-metric:reward/length"), asSort("-odd")]).toEqual(["-metric:reward/length", null]);
  expect(
    sortsFor(columns, "spec:seed")
      .slice(-3)
      .map(({ first }) => first),
  ).toEqual(["spec:ppo.kl.coef", "-metric:reward/length", "spec:seed"]);
});

test("a column that is chosen follows the one that it follows at first", () => {
  expect(orderedColumns(["kl", "status"]).slice(0, 6)).toEqual(["kl", "win_rate", "judge", "health", "tags", "group"]);
  expect(orderedColumns(["kl", "status"]).slice(-4)).toEqual(["status", "model", "progress", "reward"]);
  expect(orderedColumns([]).slice(0, 2)).toEqual(["status", "model"]);
});

test("a column moves, and stays within the row", () => {
  expect(withMoved(["status", "kl", "tags"], "tags", -1)).toEqual(["status", "tags", "kl"]);
  expect(withMoved(["status", "kl", "tags"], "status", 1)).toEqual(["kl", "status", "tags"]);
  expect(withMoved(["status", "kl"], "status", -1)).toEqual(["status", "kl"]);
});

test("a stored text that holds no views gives none", () => {
  const view = { name: "mine", query: "tag=a", columns: ["kl"] as const };
  expect(readViews([view, { name: 3 }, null])).toEqual([view]);
  expect([undefined, "{", {}].map(readViews)).toEqual([[], [], []]);
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
