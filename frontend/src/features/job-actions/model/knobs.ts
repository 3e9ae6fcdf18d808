import type { Commands } from "@/features/job-actions/api";
import { KNOBS } from "@/lib/api/knobs.gen";
import type { JobCommand, JobKnob, SuggestedChange } from "@/lib/api/types";
import { number } from "@/lib/format";
import { numberIn } from "@/lib/numbers";

type KnobName = JobKnob["name"];

type Bounds = Pick<JobKnob, "minimum" | "exclusive_minimum" | "maximum" | "exclusive_maximum">;

/** The allowed values in words, such as "above 0 and below 1". */
export function rangeText({ minimum, exclusive_minimum, maximum, exclusive_maximum }: Bounds): string {
  const low = minimum === null ? "" : `${exclusive_minimum ? "above" : "at least"} ${number(minimum)}`;
  const high = maximum === null ? "" : `${exclusive_maximum ? "below" : "at most"} ${number(maximum)}`;
  return [low, high].filter(Boolean).join(" and ") || "any number";
}

/** The number in a field; null for an empty one. Throws an Error with the remedy for any other text or a value out of range. */
export function readKnob(text: string, bounds: Bounds): number | null {
  if (!text.trim()) return null;
  const value = numberIn(text, {}, ", such as 0.05 or 3e-6");
  const { minimum, exclusive_minimum, maximum, exclusive_maximum } = bounds;
  const isLow = minimum !== null && (exclusive_minimum ? value <= minimum : value < minimum);
  const isHigh = maximum !== null && (exclusive_maximum ? value >= maximum : value > maximum);
  if (isLow || isHigh) throw new Error(`The value must be ${rangeText(bounds)}.`);
  return value;
}

export type Draft = Partial<Record<KnobName, string>>;

export interface Reading {
  /** The changed knobs, as the request sends them. */
  readonly commands: Commands;
  readonly problems: Partial<Record<KnobName, string>>;
}

/** The value that a knob has, or gets from the last command that is pending for it. */
const comingValue = ({ name, value }: JobKnob, pending: readonly JobCommand[]): number | null =>
  pending.findLast((command) => command.name === name)?.value ?? value;

/** The changes of a draft. A knob whose text is the value that it has, or that is pending for it, is not sent. */
export function readDraft(draft: Draft, knobs: readonly JobKnob[], pending: readonly JobCommand[]): Reading {
  const commands: Partial<Record<KnobName, number>> = {};
  const problems: Partial<Record<KnobName, string>> = {};
  for (const knob of knobs) {
    const text = draft[knob.name];
    if (text === undefined || !knob.available) continue;
    try {
      const value = readKnob(text, knob);
      if (value !== null && value !== comingValue(knob, pending)) commands[knob.name] = value;
    } catch (error) {
      problems[knob.name] = error instanceof Error ? error.message : String(error);
    }
  }
  return { commands: commands as Commands, problems };
}

/** The draft without the texts of the knobs that a request has changed. */
export const withoutSent = (draft: Draft, sent: Commands): Draft =>
  Object.fromEntries(Object.entries(draft).filter(([name]) => sent[name as KnobName] == null));

/** The commands that take these changes back: each knob gets the value that it has now, or that is pending for it. */
export function takenBack(changes: Commands, knobs: readonly JobKnob[], pending: readonly JobCommand[]): Commands {
  const values = knobs.flatMap((knob) => {
    const before = comingValue(knob, pending);
    return changes[knob.name] == null || before === null ? [] : [[knob.name, before] as const];
  });
  return Object.fromEntries(values) as unknown as Commands;
}

/** The change that sets a knob back to the value before a command; null where there is nothing to take back. */
export function wayBack(command: JobCommand, knobs: readonly JobKnob[]): { name: KnobName; value: number } | null {
  const knob = knobs.find(({ name, available }) => available && name === command.name);
  const { value_before: value, status } = command;
  if (!knob || status !== "applied" || value === null || value === knob.value) return null;
  return { name: knob.name, value };
}

/** Changes in words, such as "KL coefficient → 0.1, critic's learning rate → 1e-5". */
export const changesText = (changes: Commands): string =>
  Object.entries(changes)
    .flatMap(([name, value]) =>
      typeof value === "number" ? [`${KNOBS[name as KnobName].label} → ${number(value)}`] : [],
    )
    .join(", ");

/** The outcome of a command, in words. */
export function outcome(command: Pick<JobCommand, "status" | "step" | "reason">): string {
  if (command.status === "pending") return "The trainer takes it up after the present step";
  if (command.status === "refused") return `Refused: ${command.reason ?? "no reason was given"}`;
  return command.step === null ? "Done" : `Done after step ${command.step}`;
}

/** A suggested change for a live knob: its name, and the present and the new value. */
interface LiveChange {
  readonly knob: JobKnob;
  readonly from: number;
  readonly to: number;
}

/**
 * The live knob that a suggestion changes; null if it needs another run. A factor counts from the present value of the knob,
 * which may differ from the spec's.
 */
export function liveChange(change: SuggestedChange, knobs: readonly JobKnob[]): LiveChange | null {
  const knob = knobs.find(({ field, available }) => available && field === change.field);
  if (knob?.value == null) return null;
  const to = typeof change.factor === "number" ? Number((knob.value * change.factor).toPrecision(3)) : change.value;
  return typeof to === "number" && to !== knob.value ? { knob, from: knob.value, to } : null;
}

/** A suggestion in words, such as "`ppo.kl.coef` = 0.1". */
export const changeText = ({ field, value }: SuggestedChange): string => `${field} = ${valueText(value)}`;

const valueText = (value: unknown): string => (typeof value === "number" ? number(value) : JSON.stringify(value));

/** The changes as the form of a new job reads them from its address. */
export const changeParameter = (changes: readonly SuggestedChange[]): string =>
  JSON.stringify(Object.fromEntries(changes.map(({ field, value }) => [field, value])));
