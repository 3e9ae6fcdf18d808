/** How a number may be written: digits, which `_` may group, one decimal point and an exponent. */
const WRITTEN = /^[+\-−]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:[eE][+\-−]?\d+)?$/;

export interface NumberRules {
  readonly integer?: boolean;
  readonly min?: number;
  readonly max?: number;
}

/** The number that a text holds. Throws an Error with the remedy. `or`: what else the field takes, as ", or auto". */
export function numberIn(text: string, { integer, min, max }: NumberRules = {}, or = ""): number {
  const written = text.trim();
  const kind = integer ? "a whole number" : "a number";
  if (/^[+\-−]?\d+,\d+$/.test(written))
    throw new Error(`“${written}” is no number. Write a point in place of the comma${or}.`);
  if (!WRITTEN.test(written)) throw new Error(`“${shortened(written)}” is no number. Enter ${kind}${or}.`);
  const value = Number(written.replaceAll("_", "").replaceAll("−", "-"));
  if (!Number.isFinite(value)) throw new Error(`“${shortened(written)}” is too large. Enter ${kind}${or}.`);
  if (value === 0 && /[1-9]/.test(written.replace(/[eE].*$/, "")))
    throw new Error(`“${shortened(written)}” is too close to 0. Enter ${kind}${or}.`);
  if (integer && Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new Error(`“${shortened(written)}” is too large. Enter ${kind}${or}.`);
  if (integer && !Number.isInteger(value)) throw new Error(`Enter a whole number${or}.`);
  if (min !== undefined && value < min) throw new Error(`Enter ${kind} of at least ${min}.`);
  if (max !== undefined && value > max) throw new Error(`Enter ${kind} of at most ${max}.`);
  return value;
}

/** The fault of a text that should hold a number; empty without one. An empty text has none. */
export function numberFault(text: string, rules: NumberRules = {}): string {
  if (!text.trim()) return "";
  try {
    numberIn(text, rules);
    return "";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const shortened = (text: string): string => (text.length > 20 ? `${text.slice(0, 19)}…` : text);
