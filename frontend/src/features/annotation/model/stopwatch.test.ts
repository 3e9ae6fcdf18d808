import { expect, test } from "vitest";
import { Stopwatch } from "@/features/annotation/model/stopwatch";

test("time in a hidden tab does not count", () => {
  let now = 1000;
  const watch = new Stopwatch(() => now);
  now = 3000;
  watch.stop();
  now = 60_000;
  expect(watch.seconds).toBe(2);
  watch.go();
  now = 61_500;
  expect(watch.seconds).toBe(3.5);
});

test("the next item starts at nothing, and a stopped watch stays stopped", () => {
  let now = 0;
  const watch = new Stopwatch(() => now);
  now = 5000;
  watch.restart();
  expect(watch.seconds).toBe(0);
  watch.stop();
  watch.restart();
  now = 9000;
  expect(watch.seconds).toBe(0);
});
