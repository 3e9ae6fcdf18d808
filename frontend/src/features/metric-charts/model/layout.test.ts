import { expect, test } from "vitest";
import { arrange, hiddenOrNot, moved, pinnedOrNot, reset } from "@/features/metric-charts/model/arrange";
import { arranged, type Layout, layoutOf, readLayout, USUAL_LAYOUT } from "@/features/metric-charts/model/layout";
import { withOwn, withoutOwn, withRestored } from "@/features/metric-charts/model/own-layout";

const CHARTS = ["Reward", "KL", "Entropy", "Loss"].map((title) => ({ title }));
const titles = (layout: Layout) => arranged(CHARTS, layout).map(({ title }) => title);

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

test("a stored layout is read, and a value of another version is the usual one", () => {
  const own = [{ title: "Two", metrics: ["loss", "lr"], log: true }];
  const layout = { order: ["Loss"], pinned: [], hidden: ["KL"], own };
  expect(readLayout(layout)).toEqual(layout);
  expect(readLayout({ order: ["Loss", 3], pinned: "KL" })).toEqual({ ...USUAL_LAYOUT, order: ["Loss"] });
  expect([undefined, null, "", [], 7].map(readLayout)).toEqual(Array.from({ length: 5 }, () => USUAL_LAYOUT));
});

test("without storage a change lasts until the page is left", () => {
  expect(layoutOf("ppo")).toEqual(USUAL_LAYOUT);
  arrange("ppo", (before) => pinnedOrNot(before, "KL"));
  expect([layoutOf("ppo").pinned, layoutOf("sft").pinned]).toEqual([["KL"], []]);
});

const TWO = { title: "Two", metrics: ["loss", "lr"], log: false };

test("a new chart comes before the others", () => {
  const ordered = { ...USUAL_LAYOUT, order: ["Loss", "KL"] };
  expect(withOwn(USUAL_LAYOUT, TWO, null)).toEqual({ ...USUAL_LAYOUT, own: [TWO] });
  expect(withOwn(ordered, TWO, null).order).toEqual(["Two", "Loss", "KL"]);
});

test("a changed chart keeps its place and its pin under a new title", () => {
  const before = { order: ["Loss", "Two"], pinned: ["Two"], hidden: [], own: [TWO] };
  const pair = { ...TWO, title: "Pair", log: true };
  expect(withOwn(before, pair, TWO)).toEqual({ order: ["Loss", "Pair"], pinned: ["Pair"], hidden: [], own: [pair] });
});

test("a deleted chart returns to its place, and changes since then stay", () => {
  const before = { order: ["Loss", "Two", "KL"], pinned: ["Two"], hidden: [], own: [TWO] };
  const without = withoutOwn(before, TWO);
  expect(without).toEqual({ order: ["Loss", "KL"], pinned: [], hidden: [], own: [] });
  const later = hiddenOrNot(without, "KL");
  expect(withRestored(later, before, TWO)).toEqual({ ...before, hidden: ["KL"] });
  expect(withRestored(before, before, TWO)).toBe(before);
});

test("a reset keeps the charts of the user", () => {
  expect(reset({ order: ["KL"], pinned: ["KL"], hidden: ["Loss"], own: [TWO] })).toEqual({
    ...USUAL_LAYOUT,
    own: [TWO],
  });
});
