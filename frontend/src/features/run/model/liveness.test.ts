import { expect, test } from "vitest";
import { liveness, type Pulse } from "@/features/run/model/liveness";

const NOW = Date.parse("2026-01-01T12:00:00Z");
const minutesAgo = (minutes: number) => NOW - minutes * 60_000;
const running: Pulse = {
  link: { state: "live", since: minutesAgo(60) },
  ended: false,
  isRunning: true,
  heardAt: minutesAgo(1),
  secondsPerStep: 2,
};
const label = (change: Partial<Pulse>) => liveness({ ...running, ...change }, NOW).label;

test("a run that reports is live; one that was silent for minutes is stalled", () => {
  expect([label({}), label({ heardAt: minutesAgo(4.5) }), label({ heardAt: minutesAgo(75) })]).toEqual([
    "live",
    "no step for 4 min",
    "no step for 1 h 15 min",
  ]);
});

test("slow steps are no stall until five of them are missing", () => {
  expect([
    label({ heardAt: minutesAgo(9), secondsPerStep: 120 }),
    label({ heardAt: minutesAgo(11), secondsPerStep: 120 }),
  ]).toEqual(["live", "no step for 11 min"]);
});

test("a job that waits or is paused is not stalled", () => {
  expect(label({ isRunning: false, heardAt: minutesAgo(30) })).toBe("live");
});

test("a lost connection is named with the time since when, before any stall", () => {
  const lost = (state: "reconnecting" | "offline") => ({
    link: { state, since: minutesAgo(2) },
    heardAt: minutesAgo(9),
  });
  expect(label(lost("reconnecting"))).toMatch(/^reconnecting since \d\d:58:00$/);
  expect(label(lost("offline"))).toMatch(/^offline since \d\d:58:00$/);
});

test("an ended run stays ended without a connection", () => {
  expect(label({ ended: true, link: { state: "reconnecting", since: NOW } })).toBe("ended");
});
