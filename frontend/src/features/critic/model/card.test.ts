import { describe, expect, it } from "vitest";
import { barsOf, type CriticCard, verdictOf } from "@/features/critic/model/card";

const bin = { low: 0, high: 1, value: 1, returns: 1 };
const GOOD: CriticCard = {
  responses: 8,
  tokens: 80,
  value: 1,
  returns: 1.1,
  returns_std: 1,
  explained_variance: 0.6,
  skill: 0.59,
  td_error: 0.2,
  calibration_error: 0.1,
  variance_removed: 0.5,
  rank_first: 0.3,
  rank_middle: 0.6,
  rank_last: 0.9,
  by_position: [],
  calibration: [],
  by_length: [
    { ...bin, responses: 4 },
    { ...bin, responses: 4 },
  ],
  worst: [],
};

describe("verdictOf", () => {
  it("names nothing to change for a good critic", () => {
    expect(verdictOf(GOOD)).toEqual({
      tone: "neutral",
      title: "The critic foresees a part of the returns",
      points: [
        "59 % of the squared error of the mean return is gone.",
        "It removes 50 % of the variance of the advantages.",
      ],
    });
  });

  it("asks to pretrain a critic that is worse than the mean", () => {
    const found = verdictOf({ ...GOOD, skill: -0.5, explained_variance: -0.5, variance_removed: -1, rank_last: 0 });
    expect(found.tone).toBe("bad");
    expect(found.title).toBe("The critic is worse than the mean return");
    expect(found.points.join(" ")).toContain("1.5 times that of always expecting the mean return");
    expect(found.points.join(" ")).toContain("`ppo.critic.pretraining`");
    expect(found.points.join(" ")).toContain("(ρ = 0)");
    expect(found.points.join(" ")).toContain("adds 100 %");
  });

  it("asks for more passes where all values are shifted alike", () => {
    const found = verdictOf({ ...GOOD, value: -1, skill: -3.8 });
    expect(found.points.join(" ")).toContain("lie 2.10 below the returns");
    expect(found.points.join(" ")).toContain("`ppo.critic.epochs`");
    expect(found.points.join(" ")).not.toContain("pretraining");
  });

  it("reports where the critic foresees hardly anything, or there is nothing to foresee", () => {
    expect(verdictOf({ ...GOOD, skill: 0.05 })).toMatchObject({
      tone: "warn",
      title: "The critic foresees hardly anything",
    });
    const none = { skill: null, explained_variance: null, rank_last: null, variance_removed: null };
    const found = verdictOf({ ...GOOD, ...none, returns_std: 0, value: 1.1 });
    expect(found.title).toContain("nothing to foresee");
    expect(found.points).toEqual([]);
  });

  it("names a bias by length", () => {
    const lengths = [
      { ...bin, responses: 4 },
      { ...bin, value: 1.75, responses: 4 },
    ];
    expect(verdictOf({ ...GOOD, by_length: lengths }).points).toContain(
      "It overrates long responses beside short ones, by 0.750.",
    );
    const reversed = verdictOf({ ...GOOD, by_length: lengths.toReversed() }).points.join(" ");
    expect(reversed).toContain("underrates long responses");
  });

  it("names values that rank nothing", () => {
    expect(verdictOf({ ...GOOD, rank_last: null }).points.join(" ")).toContain("rank nothing");
  });
});

const NONE = { least: [0, 0] } as const;

describe("barsOf", () => {
  it("has a scale of a least width", () => {
    expect(barsOf([0.5, -1], { least: [-1, 3] })).toEqual({
      zero: 0.25,
      bars: [
        { from: 0.25, to: 0.375, isCut: false },
        { from: 0, to: 0.25, isCut: false },
      ],
    });
  });

  it("draws bars from zero on one scale", () => {
    expect(barsOf([1, -1, null, 0.5], NONE)).toEqual({
      zero: 0.5,
      bars: [
        { from: 0.5, to: 1, isCut: false },
        { from: 0, to: 0.5, isCut: false },
        null,
        { from: 0.5, to: 0.75, isCut: false },
      ],
    });
  });

  it("cuts a bar that leaves the scale", () => {
    const { zero, bars } = barsOf([-9, 1], { least: [0, 0], most: [-1, 1] });
    expect(zero).toBe(0.5);
    expect(bars[0]).toEqual({ from: 0, to: 0.5, isCut: true });
  });

  it("has a scale where all values are 0 or missing", () => {
    expect(barsOf([0, undefined], NONE)).toEqual({ zero: 0, bars: [{ from: 0, to: 0, isCut: false }, null] });
  });
});
