import { expect, test } from "vitest";
import { pairCommand, type Press, rankingCommand } from "@/features/annotation/model/keys";

const press = (key: string, more: Partial<Press> = {}): Press => ({
  key,
  code: /^\d$/.test(key) ? `Digit${key}` : "",
  shiftKey: false,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  repeat: false,
  ...more,
});

test.each([
  ["1", { type: "choose", choice: "1" }],
  ["2", { type: "choose", choice: "2" }],
  ["0", { type: "choose", choice: "tie" }],
  ["s", { type: "choose", choice: "skip" }],
  ["S", { type: "choose", choice: "skip" }],
  ["u", { type: "undo" }],
  ["?", { type: "help" }],
  ["3", null],
  ["Enter", null],
])("before a pair %s means %o", (key, command) => {
  expect(pairCommand(press(key))).toEqual(command);
});

test("a key held down answers once", () => {
  expect(pairCommand(press("1", { repeat: true }))).toBeNull();
});

test("what the browser uses with a modifier stays the browser's", () => {
  for (const modifier of ["ctrlKey", "metaKey", "altKey"] as const) {
    expect(pairCommand(press("1", { [modifier]: true }))).toBeNull();
  }
});

test("on a keyboard whose digits need Shift, the key counts", () => {
  expect(pairCommand(press("&", { code: "Digit1" }))).toEqual({ type: "choose", choice: "1" });
});

test("the numbers beside count as digits, and as arrows without NumLock", () => {
  expect(pairCommand(press("1", { code: "Numpad1" }))).toEqual({ type: "choose", choice: "1" });
  expect(pairCommand(press("End", { code: "Numpad1" }))).toBeNull();
});

test.each([
  ["3", { type: "pick", index: 2, tie: false }],
  ["0", { type: "join" }],
  ["Backspace", { type: "back" }],
  ["Enter", { type: "submit" }],
  ["u", { type: "undo" }],
  ["s", { type: "choose", choice: "skip" }],
  ["5", null],
])("before four completions %s means %o", (key, command) => {
  expect(rankingCommand(press(key), 4)).toEqual(command);
});

test("Shift and a digit pick a tie, whatever Shift makes of the digit", () => {
  expect(rankingCommand(press("@", { code: "Digit2", shiftKey: true }), 4)).toEqual({
    type: "pick",
    index: 1,
    tie: true,
  });
});
