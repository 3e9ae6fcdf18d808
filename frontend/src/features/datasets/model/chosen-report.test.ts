import { expect, test } from "vitest";
import { chosenReport } from "@/features/datasets/model/chosen-report";

const reports = [
  { id: "rep_3", status: "running" },
  { id: "rep_2", status: "done" },
  { id: "rep_1", status: "done" },
];

test("the one that the address names", () => expect(chosenReport(reports, "rep_1")?.id).toBe("rep_1"));
test("without a name, or with an old one, the newest that is done", () => {
  expect(chosenReport(reports, null)?.id).toBe("rep_2");
  expect(chosenReport(reports, "rep_gone")?.id).toBe("rep_2");
});
test("while none is done, the newest", () => expect(chosenReport(reports.slice(0, 1), null)?.id).toBe("rep_3"));
test("none at all", () => expect(chosenReport([], null)).toBeNull());
