import { expect, test } from "vitest";
import { isReadOnly, kept, withReadOnly } from "@/lib/read-only";

const at = (address: string) => {
  const { pathname, search } = new URL(address, "http://localhost");
  return { pathname, search };
};

test("runs, comparisons and groups have the view", () => {
  const pages = ["/jobs/job_a", "/compare", "/groups", "/groups/grp_a"];
  expect(pages.map((page) => isReadOnly(at(`${page}?readonly=1`)))).toEqual([true, true, true, true]);
  const others = ["/", "/jobs/new", "/comparison", "/settings"];
  expect(others.map((page) => isReadOnly(at(`${page}?readonly=1`)))).toEqual([false, false, false, false]);
});

test("another value than 1 is not the view", () => {
  expect(["", "?readonly=0", "?readonly", "?readonly=true"].map((query) => isReadOnly(at(`/compare${query}`)))).toEqual(
    [false, false, false, false],
  );
});

test("a shared address keeps the choices of the page", () => {
  expect(withReadOnly("?tab=completions&step=4", true)).toBe("?tab=completions&step=4&readonly=1");
});

test("links to pages with the view keep it", () => {
  expect(kept(at("/jobs/job_b?tab=events"), "/compare")).toEqual(at("/jobs/job_b?tab=events&readonly=1"));
  expect(kept({ search: "?tab=about" }, "/jobs/job_b")).toEqual({ search: "?tab=about&readonly=1" });
});

test("links to other pages leave the view", () => {
  expect(kept(at("/jobs/new?clone=job_b&readonly=1"), "/compare")).toEqual(at("/jobs/new?clone=job_b"));
  expect(kept(at("/"), "/compare")).toEqual(at("/"));
});

test("the link out of the view leaves no trace in the address", () => {
  const search = withReadOnly("?runs=job_a&readonly=1", false);
  expect(kept({ pathname: "/compare", search }, "/compare")).toEqual(at("/compare?runs=job_a"));
});
