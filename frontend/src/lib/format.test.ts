import { expect, test } from "vitest";
import { ago, bytes, count, duration, fixed, hours, measured, number, percent } from "@/lib/format";

test.each([
  [0, "0"],
  [0.123456, "0.123"],
  [-0.5, "−0.5"],
  [12.5, "12.5"],
  [999.6, "1000"],
  [12345, "12,345"],
  [0.00003, "3.0e−5"],
  [2.5e7, "2.5e7"],
  [null, "\u2013"],
  [NaN, "\u2013"],
])("number(%s) is %s", (value, text) => expect(number(value)).toBe(text));

test("decimals that line up", () =>
  expect([fixed(1), fixed(-0.126), fixed(null)]).toEqual(["1.00", "−0.13", "\u2013"]));
test("a measured value keeps its zeros", () => {
  expect([1.1, 0.5, -0.25, 12, 123.4, 0.00003].map(measured)).toEqual([
    "1.10",
    "0.500",
    "−0.250",
    "12",
    "123",
    "3.0e−5",
  ]);
});
test("percent", () => expect([percent(0.943), percent(0.9432, 1)]).toEqual(["94 %", "94.3 %"]));
test("bytes", () => expect([bytes(0), bytes(1999), bytes(2_400_000)]).toEqual(["0 B", "2.0 kB", "2.4 MB"]));
test("count", () => expect([count(1, "row"), count(12_000, "row")]).toEqual(["1 row", "12,000 rows"]));

test.each([
  [0, "0 s"],
  [0.42, "0.4 s"],
  [9.97, "10 s"],
  [59.6, "1 min 00 s"],
  [125, "2 min 05 s"],
  [3725, "1 h 02 min"],
  [200_000, "2 d 7 h"],
  [null, "\u2013"],
])("duration(%s) is %s", (seconds, text) => expect(duration(seconds)).toBe(text));

test("hours", () => expect([0, 0.004, 1.25, 1200].map(hours)).toEqual(["0.00 h", "< 0.01 h", "1.25 h", "1200 h"]));

test("ago", () => {
  const now = Date.parse("2026-01-02T00:00:00Z");
  expect(ago("2026-01-01T23:59:30Z", now)).toBe("30 s ago");
  expect(ago("2026-01-01T20:00:00Z", now)).toBe("4 h ago");
  expect(ago("2025-06-01T20:00:00Z", now)).toBe("2025-06-01");
});
