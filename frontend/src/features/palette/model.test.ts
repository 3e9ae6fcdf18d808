import { describe, expect, it } from "vitest";
import { PLACES, placesFor, spoken } from "@/features/palette/model";

describe("places", () => {
  it("match every word of the text, in any order and case", () =>
    expect(placesFor("ROUND new").map(({ label }) => label)).toEqual(["New annotation round"]));
  it("are all there without a text", () => expect(placesFor("  ")).toHaveLength(PLACES.length));
  it("have keys that differ", () => {
    const keys = PLACES.flatMap((place) => place.keys ?? []);
    expect(new Set(keys).size).toBe(keys.length);
  });
});

it("spells a sequence of keys", () => expect(spoken("g j")).toBe("G then J"));
