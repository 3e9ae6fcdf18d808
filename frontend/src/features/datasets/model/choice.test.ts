import { expect, test } from "vitest";
import { readFilter, writeFilter } from "@/features/datasets/model/choice";

test.each(["", "q=film&kind=sft&archived=1&sort=-rows", "sort=name"])("the address %j is read and written", (query) =>
  expect(writeFilter(readFilter(new URLSearchParams(query))).toString()).toBe(query),
);

test("unknown parameters of an address are left out", () =>
  expect(readFilter(new URLSearchParams("kind=movies&sort=-colour"))).toEqual({
    search: "",
    kind: null,
    archived: false,
    sort: null,
  }));
