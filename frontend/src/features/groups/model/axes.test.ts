import { describe, expect, it } from "vitest";
import { axisOf } from "@/features/groups/model/axes";

const axis = (...values: unknown[]) => axisOf("ppo.x", values);
const places = (...values: unknown[]) => values.map((value) => axis(...values).place(value));

describe("the axis of a parameter", () => {
  it("has numbers by size", () => expect(places(1, 2, 5)).toEqual([0, 0.25, 1]));
  it("has a wide range by its logarithm", () => {
    const wide = axis(1e-6, 1e-5, 1e-4);
    expect([wide.isLog, wide.place(1e-5)?.toFixed(3)]).toEqual([true, "0.500"]);
    expect(wide.ticks.map(({ text }) => text)).toEqual(["0.000001", "0.00001", "0.0001"]);
  });
  it("has null below the numbers", () => {
    const found = places(null, 0.1, 0.3);
    expect(found[0]).toBe(0);
    expect(found[1]).toBeCloseTo(0.14);
    expect(found[2]).toBe(1);
  });
  it("has texts side by side", () => expect(places("b", "a", "c")).toEqual([0.5, 0, 1]));
  it("has lists and booleans as texts", () => expect(places([1, 2], true)).toEqual([0, 1]));
  it("has a single value in the middle", () => expect([...places(3), ...places("x")]).toEqual([0.5, 0.5]));
  it("has no place for a run without the parameter", () => expect(places(1, undefined, 2)[1]).toBeNull());
  it("names the ends of many numbers", () =>
    expect(axis(...Array.from({ length: 30 }, (_, index) => index + 10.1239)).ticks.map(({ text }) => text)).toEqual([
      "10.1",
      "24.6",
      "39.1",
    ]));
});
