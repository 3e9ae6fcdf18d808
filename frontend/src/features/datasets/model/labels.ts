export type Side = "a" | "b" | "tie";

/** The meaning of a verdict on one answer. */
type Thumb = "up" | "down";

/** The meaning of each value; null marks records with it as unusable. A number is a score. */
export type Labels = Readonly<Record<string, Side | Thumb | number | null>>;

/** The columns of the two answers. */
interface Sides {
  readonly a?: string;
  readonly b?: string;
}

/** The meaning of each label value that the value or the columns of the sides state; null where the user decides. */
export function guessLabels(examples: readonly string[], sides: Sides = {}): Labels {
  const values = [...new Set(examples.map((text) => text.trim()))].filter(Boolean);
  const ofNumber = numbersMean(new Set(values.map(essence).filter(isNumber).map(Number)), sides);
  const said = (value: string): Side | null => {
    const core = essence(value);
    return isNumber(core) ? ofNumber(Number(core)) : meaning(value, core);
  };
  return Object.fromEntries(values.map((value) => [value, said(value)] as const));
}

const isNumber = (text: string): boolean => text !== "" && Number.isFinite(Number(text));

/** Words that say nothing about which one is meant. */
const FILLING = /^(model|response|answer|option|completion|assistant|output|text|is|the|better|best|wins|winner)$/;

/** The essential part of a value: "2" for "Response 2 is better". */
function essence(value: string): string {
  if (isNumber(value)) return value;
  const words = value.toLowerCase().match(/[a-z]+|[0-9]+/g) ?? [];
  return words.filter((word) => !FILLING.test(word)).join(" ");
}

/** The last number in a column's name, as in `response_2`. */
const ENDS_WITH = /(\d+)\D*$/;

/**
 * A number is the side whose column's name ends with it. Without such names it may be either side: files count from 0 and
 * from 1, and 1 also means "yes". Further numbers show that they are grades.
 */
function numbersMean(numbers: ReadonlySet<number>, { a = "", b = "" }: Sides): (value: number) => Side | null {
  const first = ENDS_WITH.exec(a)?.[1];
  const second = ENDS_WITH.exec(b)?.[1];
  if (first === undefined || second === undefined || Number(first) === Number(second)) return () => null;
  const sides = new Map<number, Side>([
    [Number(first), "a"],
    [Number(second), "b"],
  ]);
  const areGrades = [...numbers].some((value) => value !== 0 && !sides.has(value));
  return (value) => (areGrades ? null : (sides.get(value) ?? null));
}

const NAMES: readonly (readonly [Side, RegExp])[] = [
  ["a", /^(a|first|left)$/],
  ["b", /^(b|second|right)$/],
];
const TIE = /(^|[^a-z])(tie|equal|both|neither|same|draw)/;
const COMPARISON = /^([^<>=]*)([<>=]+)([^<>=]*)$/;

function meaning(value: string, core: string): Side | null {
  const [, left, sign, right] = COMPARISON.exec(value) ?? [];
  if (left !== undefined && sign !== undefined && right !== undefined) return compared(left, sign, right);
  return TIE.test(value.toLowerCase()) ? "tie" : (NAMES.find(([, names]) => names.test(core))?.[0] ?? null);
}

/** "A>B", "[[B>>A]]", "1 < 2", or the sign alone. */
function compared(left: string, sign: string, right: string): Side | null {
  const order = `${essence(left.trim())} ${essence(right.trim())}`;
  if (![" ", "a b", "b a", "1 2", "2 1"].includes(order)) return null;
  const isTurned = order === "b a" || order === "2 1";
  if (/^=+$/.test(sign)) return "tie";
  if (/^>+$/.test(sign)) return isTurned ? "b" : "a";
  return /^<+$/.test(sign) ? (isTurned ? "a" : "b") : null;
}
