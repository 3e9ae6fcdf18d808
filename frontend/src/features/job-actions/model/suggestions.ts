import type { JobKnob, SuggestedChange } from "@/lib/api/types";
import { number } from "@/lib/format";

/** A suggested change for a live knob: its name, and the present and the new value. */
export interface LiveChange {
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
