import { expect, test } from "vitest";
import { gestureOf } from "@/charts/gestures";

test("fingers that move apart zoom in around the middle between them", () => {
  // From 100 px apart to 200 px apart; the middle stays at 150 of 300 px.
  expect(gestureOf([100, 200], [50, 250], 300)).toEqual({ zoom: 0.5, pan: 0, at: 0.5 });
});

test("fingers that move together pan", () => {
  expect(gestureOf([200], [170], 300)).toEqual({ zoom: 1, pan: 0.1, at: 170 / 300 });
  expect(gestureOf([100, 200], [130, 230], 300)).toEqual({ zoom: 1, pan: -0.1, at: 0.6 });
});

test("fingers close together do not zoom", () => {
  expect(gestureOf([100, 110], [100, 200], 300).zoom).toBe(1);
});
