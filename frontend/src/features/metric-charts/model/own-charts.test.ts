import { expect, test } from "vitest";
import { axesText, metricFilter, usualTitle } from "@/features/metric-charts/model/choose-metrics";
import { ownSpecs, readOwn } from "@/features/metric-charts/model/own-charts";

const metric = (name: string, label: string, unit = "") => ({ name, label, unit });
const KL = metric("objective/kl", "KL to the reference", "nats");
const SCORE = metric("objective/scores", "Score", "score");
const HELD_OUT = metric("eval/score", "Held-out score", "score");
const LENGTH = metric("val/response_length", "Response length", "tokens");
const ALL = [KL, SCORE, HELD_OUT, LENGTH];
const meanings = new Map(ALL.map((one) => [one.name, one]));

test("readOwn keeps what is a chart, with at most eight metrics", () => {
  const nine = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
  const stored = [
    { title: " Both ", metrics: ["objective/kl", "objective/kl", 7, ""], log: "yes" },
    { title: "Both", metrics: ["lr"] },
    { title: "Many", metrics: nine, log: true },
    { title: "", metrics: ["lr"] },
    { title: "None", metrics: [] },
    { title: "Text", metrics: "lr" },
    null,
    "chart",
  ];
  expect(readOwn(stored)).toEqual([
    { title: "Both", metrics: ["objective/kl"], log: false },
    { title: "Many", metrics: nine.slice(0, 8), log: true },
  ]);
  expect([undefined, null, {}, "x"].map(readOwn)).toEqual([[], [], [], []]);
});

const sides = (...metrics: string[]) =>
  ownSpecs([{ title: "Mine", metrics, log: false }], meanings, []).flatMap(({ lines }) =>
    lines.map(({ right }) => right),
  );

test("of two units the second has the axis on the right", () => {
  expect(sides("objective/scores", "eval/score")).toEqual([false, false]);
  expect(sides("objective/scores", "objective/kl", "eval/score")).toEqual([false, true, false]);
  expect(sides("objective/scores", "objective/kl", "val/response_length")).toEqual([false, false, false]);
});

test("the dialog states which axis shows which unit", () => {
  expect(axesText([SCORE, HELD_OUT])).toBeNull();
  expect(axesText([SCORE, KL])).toBe("Two units: the left axis shows score, the right one nats.");
  expect(axesText([SCORE, metric("lr", "Learning rate")])).toContain("the right one values without a unit");
  expect(axesText([SCORE, KL, LENGTH])).toBe(
    "3 units share one axis: score, nats, tokens. Their values cannot be compared by height.",
  );
});

test("a metric without a description has its name, and a taken title is marked", () => {
  const own = { title: "KL", metrics: ["custom/x"], log: false };
  expect(ownSpecs([own], meanings, ["KL"])).toEqual([
    { title: "KL (yours)", lines: [{ name: "custom/x", short: "custom/x", right: false }], own },
  ]);
});

test("a title is made of the names of the metrics", () => {
  expect(usualTitle([KL, SCORE])).toBe("KL to the reference, Score");
  expect(usualTitle(ALL)).toBe("KL to the reference, Score, Held-out score, Response length");
  expect(usualTitle([...ALL, KL])).toBe("KL to the reference and 4 more");
  expect(usualTitle([])).toBe("");
});

const found = (text: string) => ALL.filter(metricFilter(text)).map(({ name }) => name);

test("metrics are found by name, label and regular expression", () => {
  expect(found("")).toHaveLength(4);
  expect(found(" SCORE ")).toEqual(["objective/scores", "eval/score"]);
  expect(found("^objective/|length$")).toEqual(["objective/kl", "objective/scores", "val/response_length"]);
  expect(found("(")).toEqual([]);
  expect(found("kl to the")).toEqual(["objective/kl"]);
});
