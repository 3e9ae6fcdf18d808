import { expect, test } from "vitest";
import { filterOf, isFiltered, readChoice, UNFILTERED, writeChoice } from "@/features/findings/model/choice";

const read = (query: string) => readChoice(new URLSearchParams(query));

test("an address keeps the whole choice", () => {
  const query = "severity=error&rule=truncation&job=job_a&state=open&archived=1";
  expect(writeChoice(read(query)).toString()).toBe(query);
});

test("invalid parameters count as absent", () => {
  expect(read("severity=grave&state=done&archived=yes&rule=&job=")).toEqual(UNFILTERED);
});

test("a choice becomes the filters of a request", () => {
  expect(filterOf(read("severity=warning&rule=message&state=ended"))).toEqual({
    severity: ["warning"],
    rule: ["message"],
    status: ["succeeded", "failed", "cancelled"],
  });
  expect(filterOf(UNFILTERED)).toEqual({});
});

test("the archived ones alone are a filter", () => {
  expect([isFiltered(read("archived=1")), isFiltered(UNFILTERED)]).toEqual([true, false]);
});
