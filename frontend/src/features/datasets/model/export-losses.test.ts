import { describe, expect, it } from "vitest";
import { lossesOf } from "./export-losses";

describe("the losses of an export", () => {
  it("are counted in words", () => {
    expect(lossesOf("ties=2, rankings=1, margin=10")).toEqual([
      "2 ties left out",
      "1 ranking written as pairs",
      "10 rows without the margin",
    ]);
  });

  it("are empty without the header", () => {
    expect(lossesOf("")).toEqual([]);
  });
});
