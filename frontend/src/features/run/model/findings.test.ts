import { expect, test } from "vitest";
import { announcement, findings, remarks } from "@/features/run/model/findings";
import type { JobEvent } from "@/lib/api/types";

let seq = 0;
const event = (type: string, data: Record<string, unknown>) =>
  ({
    seq: ++seq,
    type,
    created_at: "",
    attempt: 1,
    seed: null,
    stage: "ppo",
    step: typeof data.step === "number" ? data.step : null,
    data,
  }) as JobEvent;
const TITLES: Record<string, string> = { kl_blow_up: "KL too large", truncation: "Responses cut off" };
const health = (rule: string, step: number) =>
  event("health", {
    rule,
    title: TITLES[rule],
    step,
    action: "warn",
    cause: `cause ${step}`,
    suggestion: "lower the rate",
    evidence: [{ metric: "objective/kl", step, value: 61.5 }],
  });

test("a rule that fires again is shown once, as it stands now, the newest first", () => {
  const found = findings([health("kl_blow_up", 3), health("truncation", 4), health("kl_blow_up", 9)]);
  expect(found.map(({ title, step, times }) => [title, step, times])).toEqual([
    ["KL too large", 9, 2],
    ["Responses cut off", 4, 1],
  ]);
  expect(found[0]).toMatchObject({
    cause: "cause 9",
    suggestion: "lower the rate",
    evidence: [{ metric: "objective/kl", step: 9, value: 61.5 }],
  });
});

test("a finding that a resumed run repeats at the same step counts once", () => {
  const log = [health("kl_blow_up", 3), health("kl_blow_up", 9), health("kl_blow_up", 3), health("kl_blow_up", 9)];
  expect(findings(log).map(({ step, times }) => [step, times])).toEqual([[9, 2]]);
});

test("only a rule that is new changes the announcement", () => {
  const log = [health("kl_blow_up", 3), health("truncation", 4)];
  const both = announcement(findings(log), []);
  expect(both).toBe("2 health findings: KL too large, Responses cut off");
  expect(announcement(findings([...log, health("kl_blow_up", 9)]), [])).toBe(both);
  expect(announcement([], remarks([event("message", { text: "slow disk", level: "warning" })]))).toBe("1 warning");
  expect(announcement([], [])).toBe("");
});

test("warnings and errors among the messages are kept, information is not", () => {
  const said = (text: string, level: string) => event("message", { text, level });
  const log = [said("slow", "warning"), said("fine", "info"), said("broken", "error"), said("slow", "warning")];
  expect(remarks(log)).toEqual([
    { text: "slow", level: "warning", times: 2 },
    { text: "broken", level: "error", times: 1 },
  ]);
});
