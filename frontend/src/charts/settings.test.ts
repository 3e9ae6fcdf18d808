import { expect, test } from "vitest";
import { readView, writeView } from "@/charts/settings";

const USUAL = { axis: "step", scale: "linear", smoothing: 0, average: "exponential", clip: false, view: null } as const;
const read = (address: string, smoothing = 0) => readView(new URLSearchParams(address), smoothing);

test("a view and its address are the same", () => {
  const view = {
    axis: "log-step",
    scale: "symlog",
    smoothing: 0.9,
    average: "running",
    clip: true,
    view: { from: 10, to: 20.5 },
  } as const;
  const written = writeView(new URLSearchParams("stage=ppo"), view);
  expect(written.toString()).toBe("stage=ppo&x=log-step&y=symlog&smooth=0.9&average=running&clip=1&view=10..20.5");
  expect(readView(written, 0)).toEqual(view);
});

test("what is as usual is not in the address", () => {
  expect(writeView(new URLSearchParams("x=time&clip=1&tab=events"), USUAL).toString()).toBe("tab=events");
});

test("small values of a metric keep their digits", () => {
  const view = { ...USUAL, axis: "metric:lr", view: { from: 0.000125, to: 0.0005 } } as const;
  expect(readView(writeView(new URLSearchParams(), view), 0)).toEqual(view);
});

test("an address that makes no sense shows the usual view", () => {
  expect(read("x=toString").axis).toBe("step");
  expect(read("x=parsecs&y=polar&smooth=much&clip=maybe&view=9..3")).toEqual(USUAL);
  expect(read("smooth=7").smoothing).toBe(0.99);
});

test("without smoothing in the address the last visit counts", () => {
  expect([read("", 0.5).smoothing, read("smooth=0.2", 0.5).smoothing]).toEqual([0.5, 0.2]);
});
