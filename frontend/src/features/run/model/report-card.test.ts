import { expect, test } from "vitest";
import { reportCard } from "@/features/run/model/report-card";
import type { JobEvent } from "@/lib/api/types";

const slice = (accuracy: number, confidence: number | null = null) => ({
  pairs: 20,
  accuracy,
  low: accuracy - 0.1,
  high: accuracy + 0.1,
  confidence,
});
const event = (seq: number, card: unknown) =>
  ({
    seq,
    type: "report_card",
    created_at: "",
    attempt: 1,
    stage: "reward_model",
    step: 5,
    data: { stage: "reward_model", step: 5, card },
  }) as JobEvent;
const card = {
  overall: slice(0.7, 0.75),
  by_source: { web: slice(0.6) },
  by_length: { "longer by half": slice(0.8) },
  by_agreement: {},
  ties: 3,
  calibration: [{ low: 0.5, high: 0.55, pairs: 9, predicted: 0.52, observed: 0.4 }, { low: "?" }],
  calibration_error: 0.04,
  length_baseline: slice(0.55),
  length_correlation: null,
  margin: 0.9,
  references: 4,
};

test("a card is read slice by slice, what is not known left out", () => {
  const read = reportCard([event(1, card)], "reward_model");
  expect(read?.rows.map(({ group, name, accuracy, confidence }) => [group, name, accuracy, confidence])).toEqual([
    ["", "All pairs", 0.7, 0.75],
    ["source", "web", 0.6, null],
    ["length", "longer by half", 0.8, null],
    ["", "If the longer answer always won", 0.55, null],
  ]);
  expect(read?.calibration).toEqual([{ low: 0.5, high: 0.55, pairs: 9, predicted: 0.52, observed: 0.4 }]);
  expect(read?.figures.map(([label]) => label)).toEqual([
    "Mean margin",
    "Calibration error",
    "Ties, in no slice",
    "SFT answers measured",
  ]);
});

test("slices come in their own order, whatever the database made of it", () => {
  const mixed = { ...card, by_length: { longer: slice(0.8), shorter: slice(0.5), new: slice(0.1) } };
  const rows = reportCard([event(1, mixed)], "reward_model")?.rows ?? [];
  expect(rows.filter((row) => row.group === "length").map((row) => row.name)).toEqual(["shorter", "longer", "new"]);
});

test("the newest card of the stage counts, and other stages have none", () => {
  const log = [event(1, card), event(2, { ...card, overall: slice(0.9) })];
  expect(reportCard(log, "reward_model")?.rows[0]?.accuracy).toBe(0.9);
  expect(reportCard(log, "ppo")).toBeNull();
});

test("a card on steps speaks of good and bad steps", () => {
  const stepwise = {
    loss: "stepwise",
    overall: slice(0.8),
    by_thumb: { down: slice(0.9), up: slice(0.7) },
    first_error_accuracy: 0.6,
    calibration: [],
  };
  const read = reportCard([event(1, stepwise)], "reward_model");
  expect(read?.of).toBe("steps");
  expect(read?.rows.map(({ group, name }) => `${group} ${name}`)).toEqual([" All steps", "step good", "step bad"]);
  expect(read?.figures).toEqual([["Solutions whose first error is found", 0.6]]);
});

test("a card on thumbs has a slice for each thumb, and figures of its own", () => {
  const pointwise = {
    loss: "pointwise",
    overall: slice(0.8),
    by_thumb: { down: slice(0.9), up: slice(0.7) },
    auc: 0.85,
    majority_baseline: 0.6,
    calibration: [],
    calibration_error: 0.1,
    references: 0,
  };
  const read = reportCard([event(1, pointwise)], "reward_model");
  expect(read?.rows.map(({ group, name }) => `${group} ${name}`)).toEqual([" All thumbs", "thumb up", "thumb down"]);
  expect(read?.figures.map(([, value]) => value)).toEqual([0.85, 0.6, 0.1, 0]);
});

test("what is no card is none", () => expect(reportCard([event(1, "nonsense")], "reward_model")).toBeNull());
