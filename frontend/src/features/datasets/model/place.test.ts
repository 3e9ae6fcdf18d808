import { expect, test } from "vitest";
import { moved, readPlace, rowsOf, START, writePlace } from "@/features/datasets/model/place";

const at = (address: string) => readPlace(new URLSearchParams(address));

test("an address says all there is to say, and comes back the same", () => {
  const address =
    "tab=rows&version=2&report=rep_1&q=good+film&finding=duplicates&split=eval&after=40&row=47&view=table&diff=1";
  expect(at(address)).toEqual({
    tab: "rows",
    version: 2,
    report: "rep_1",
    search: "good film",
    finding: "duplicates",
    split: "eval",
    seed: null,
    after: 40,
    row: 47,
    view: "table",
    diff: true,
  });
  expect(writePlace(at(address)).toString()).toBe(address);
});

test("what an address says wrongly counts as not said", () => {
  expect(at("tab=nothing&version=-1&after=x&split=test&sample=1e3&row=")).toEqual(START);
  expect(writePlace(START).toString()).toBe("");
});

test("another filter starts at the first row", () => {
  const place = at("tab=rows&after=40&row=47");
  expect(moved(place, { search: "film" })).toMatchObject({ search: "film", after: 0, row: null });
  expect(moved(place, { diff: true })).toMatchObject({ after: 40, row: 47 });
});

test("the rows of a finding, or one of them, are all of them, whatever was searched for before", () => {
  const place = at("tab=rows&q=film&split=eval&sample=7&after=40&row=47&diff=1");
  expect(rowsOf(place, "ties", "rep_1", null)).toEqual(at("tab=rows&report=rep_1&finding=ties&diff=1"));
  expect(rowsOf(place, "ties", "rep_1", 17)).toEqual(at("tab=rows&report=rep_1&after=16&row=17&diff=1"));
});

test("another version has another report", () => {
  const place = at("version=1&report=rep_1&finding=ties&q=film");
  expect(moved(place, { version: 2 })).toMatchObject({ report: null, finding: null, search: "film" });
  expect(moved(place, { version: 2, report: "rep_2" }).report).toBe("rep_2");
});
