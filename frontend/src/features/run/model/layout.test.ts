import { expect, test } from "vitest";
import { arranged, hiddenOrNot, moved, pinnedOrNot, readLayout, USUAL_LAYOUT } from "@/features/run/model/layout";

const CHARTS = ["Reward", "KL", "Entropy", "Loss"].map((title) => ({ title }));
const titles = (layout: typeof USUAL_LAYOUT) => arranged(CHARTS, layout).map(({ title }) => title);

test("without a layout the order is that of the metric table", () => {
  expect(titles(USUAL_LAYOUT)).toEqual(["Reward", "KL", "Entropy", "Loss"]);
});

test("a pinned chart comes first, a hidden one not at all", () => {
  expect(titles(hiddenOrNot(pinnedOrNot(USUAL_LAYOUT, "Loss"), "KL"))).toEqual(["Loss", "Reward", "Entropy"]);
  expect(titles(pinnedOrNot(pinnedOrNot(USUAL_LAYOUT, "Loss"), "Loss"))).toEqual(titles(USUAL_LAYOUT));
});

test("a chart takes the place of another, forwards and backwards", () => {
  expect(titles(moved(USUAL_LAYOUT, titles(USUAL_LAYOUT), "Loss", "KL"))).toEqual(["Reward", "Loss", "KL", "Entropy"]);
  expect(titles(moved(USUAL_LAYOUT, titles(USUAL_LAYOUT), "Reward", "Entropy"))).toEqual([
    "KL",
    "Entropy",
    "Reward",
    "Loss",
  ]);
});

test("a move to a pinned chart pins", () => {
  const pinned = pinnedOrNot(USUAL_LAYOUT, "KL");
  const after = moved(pinned, titles(pinned), "Loss", "KL");
  expect([titles(after), after.pinned]).toEqual([
    ["Loss", "KL", "Reward", "Entropy"],
    ["KL", "Loss"],
  ]);
});

test("a chart that a later version adds follows the ordered ones", () => {
  expect(titles({ ...USUAL_LAYOUT, order: ["Loss", "KL"] })).toEqual(["Loss", "KL", "Reward", "Entropy"]);
});

test("without storage the layout is the usual one", () => {
  expect(readLayout("ppo")).toEqual(USUAL_LAYOUT);
});
