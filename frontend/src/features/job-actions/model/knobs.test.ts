import { expect, test } from "vitest";
import {
  changesText,
  outcome,
  rangeText,
  readDraft,
  readKnob,
  takenBack,
  wayBack,
  withoutSent,
} from "@/features/job-actions/model/knobs";
import { liveChange } from "@/features/job-actions/model/knobs";
import type { JobCommand, JobKnob } from "@/lib/api/types";

const knob = (name: JobKnob["name"], value: number, more: Partial<JobKnob> = {}): JobKnob => ({
  name,
  field: name === "kl_coef" ? "ppo.kl.coef" : "ppo.learning_rate",
  value,
  available: true,
  reason: null,
  minimum: 0,
  exclusive_minimum: false,
  maximum: null,
  exclusive_maximum: false,
  ...more,
});
const RATE = knob("learning_rate", 3e-6, { exclusive_minimum: true, maximum: 1, exclusive_maximum: true });

test("the range of a knob in words", () => {
  expect(rangeText(RATE)).toBe("above 0 and below 1");
  expect(rangeText(knob("kl_coef", 0.05))).toBe("at least 0");
  expect(rangeText({ minimum: null, exclusive_minimum: false, maximum: null, exclusive_maximum: false })).toBe(
    "any number",
  );
});

test("the text of a knob is read as a number in its range", () => {
  expect([readKnob(" 1e-5 ", RATE), readKnob("", RATE), readKnob("0", knob("kl_coef", 1))]).toEqual([1e-5, null, 0]);
  expect(() => readKnob("0", RATE)).toThrow("above 0 and below 1");
  expect(() => readKnob("1", RATE)).toThrow("below 1");
  expect(() => readKnob("fast", RATE)).toThrow("Enter a number");
});

test("only changed knobs are sent, and each fault is named at its knob", () => {
  const knobs = [knob("kl_coef", 0.05), RATE];
  expect(readDraft({ kl_coef: "0.05", learning_rate: "1e-6" }, knobs, [])).toEqual({
    commands: { learning_rate: 1e-6 },
    problems: {},
  });
  expect(Object.keys(readDraft({ kl_coef: "-1" }, knobs, []).problems)).toEqual(["kl_coef"]);
});

const command = (name: JobKnob["name"], value: number, more: Partial<JobCommand> = {}) =>
  ({ name, value, value_before: null, status: "pending", ...more }) as JobCommand;

test("a change is taken back to the present value, or to one that is pending before it", () => {
  const knobs = [knob("kl_coef", 0.05), RATE];
  const changes = { kl_coef: 0.2, evaluate: false, checkpoint: false };
  expect(takenBack(changes, knobs, [])).toEqual({ kl_coef: 0.05 });
  const pending = [command("kl_coef", 0.1), command("kl_coef", 0.15), command("learning_rate", 1e-5)];
  expect(takenBack(changes, knobs, pending)).toEqual({ kl_coef: 0.15 });
  expect(changesText(changes)).toMatch(/^KL coefficient.* → 0.2$/);
});

test("the present value is sent where another one is pending", () => {
  const pending = [command("kl_coef", 0.2)];
  const read = (text: string) => readDraft({ kl_coef: text }, [knob("kl_coef", 0.05)], pending).commands;
  expect([read("0.05"), read("0.2")]).toEqual([{ kl_coef: 0.05 }, {}]);
});

test("a request drops the texts of its own knobs alone", () => {
  const draft = { kl_coef: "0.1", learning_rate: "1e-" };
  const sent = { kl_coef: 0.1, evaluate: false, checkpoint: false };
  expect(withoutSent(draft, sent)).toEqual({ learning_rate: "1e-" });
  expect(withoutSent(draft, { evaluate: true, checkpoint: false })).toEqual(draft);
});

test("an applied change of the history leads back to the value before it", () => {
  const applied = command("kl_coef", 0.2, { value_before: 0.05, status: "applied" });
  expect(wayBack(applied, [knob("kl_coef", 0.2)])).toEqual({ name: "kl_coef", value: 0.05 });
  expect(wayBack(applied, [knob("kl_coef", 0.05)])).toBeNull();
  expect(wayBack(applied, [knob("kl_coef", 0.2, { available: false })])).toBeNull();
  expect(wayBack({ ...applied, status: "refused" }, [knob("kl_coef", 0.2)])).toBeNull();
});

test("the outcome of a command", () => {
  expect(outcome({ status: "applied", step: 4, reason: null })).toBe("Done after step 4");
  expect(outcome({ status: "refused", step: 4, reason: "No." })).toBe("Refused: No.");
});

test("a suggestion is applied live where its field is a knob of the stage", () => {
  const knobs = [knob("kl_coef", 0.2)];
  expect(liveChange({ field: "ppo.kl.coef", value: 0.1, factor: 2 }, knobs)?.to).toBe(0.4);
  expect(liveChange({ field: "ppo.kl.coef", value: 0.007, factor: null }, knobs)?.to).toBe(0.007);
  expect(liveChange({ field: "model.dtype", value: "float32", factor: null }, knobs)).toBeNull();
  const gone = [knob("kl_coef", 0.2, { available: false })];
  expect(liveChange({ field: "ppo.kl.coef", value: 0.1, factor: 2 }, gone)).toBeNull();
});
