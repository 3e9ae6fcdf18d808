import { expect, test } from "vitest";
import { around, compact, increments, metricOf, positionText, tickText, valueText } from "@/charts/axis";
import { number } from "@/lib/format";

test("steps have whole ticks only", () => {
  for (const kind of ["step", "tokens", "episodes"] as const) {
    expect(increments(kind)?.slice(0, 4)).toEqual([1, 2, 5, 10]);
    expect(increments(kind)?.every(Number.isInteger)).toBe(true);
  }
});

test("ticks are short", () => {
  expect([0, 40, 1500, 12_500, 2_000_000].map((value) => tickText("step", value, 1))).toEqual([
    "0",
    "40",
    "1500",
    "12.5 k",
    "2 M",
  ]);
  expect([0, 30, 60, 90, 3660].map((value) => tickText("elapsed", value, 30))).toEqual([
    "0 s",
    "30 s",
    "1 min",
    "1 min 30",
    "1 h 1",
  ]);
  expect(tickText("elapsed", 7200, 3600)).toBe("2 h");
  expect(compact(10_000)).toBe("10 k");
});

test("a position names its axis", () => {
  expect(positionText("step", 1200)).toBe("step 1,200");
  expect(positionText("log-step", 1200)).toBe("step 1,200");
  expect(positionText("episodes", 640)).toBe("640 episodes");
  expect(positionText("elapsed", 75)).toBe("1 min 15 s");
});

test("an axis of a metric has fractions and its name", () => {
  expect(metricOf("metric:objective/kl")).toBe("objective/kl");
  expect(metricOf("tokens")).toBeNull();
  expect(increments("metric:lr")).toBeNull();
  expect(tickText("metric:lr", 0.0025, 0.001)).toBe("0.0025");
  expect(positionText("metric:objective/kl", 2.5, "KL")).toBe("KL 2.50");
});

test("bytes have a form of their own", () => {
  expect(valueText(1.5e9, "bytes", number)).toBe("1.5 GB");
  expect(valueText(1.5, "nats", number)).toBe("1.5");
});

test("around covers both ranges", () => {
  expect(around({ from: 1, to: 3 }, { from: 2, to: 9 })).toEqual({ from: 1, to: 9 });
  expect(around(null, { from: 2, to: 9 })).toEqual({ from: 2, to: 9 });
});
