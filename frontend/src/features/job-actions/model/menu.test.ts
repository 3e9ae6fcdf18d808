import { expect, test } from "vitest";
import { choices, mainAction } from "@/features/job-actions/model/menu";

test("the menu of a running job", () => {
  const found = choices(["pause", "cancel", "command", "clone", "branch"]);
  expect(found.map(({ action }) => action)).toEqual(["pause", "command", "clone", "branch", "edit", "cancel"]);
  expect(found.filter(({ group }) => group).map(({ action }) => action)).toEqual(["pause", "clone", "edit", "cancel"]);
});

test("the button beside the menu", () => {
  expect(mainAction(["retry", "clone", "archive", "delete"])).toBe("retry");
  expect(mainAction(["clone", "archive", "delete"])).toBeUndefined();
});
