export type Side = "a" | "b" | "tie";

export type Labels = Readonly<Record<string, Side | null>>;

/** What each value of a label's column most likely says; null where only a person can tell. */
export function guessLabels(examples: readonly string[]): Labels {
  const values = [...new Set(examples.map((text) => text.trim()))].filter(Boolean);
  const ofNumber = numbersMean(new Set(values.map(essence).filter(isNumber).map(Number)));
  const said = (value: string): Side | null => {
    const core = essence(value);
    return isNumber(core) ? ofNumber(Number(core)) : meaning(value, core);
  };
  return Object.fromEntries(values.map((value) => [value, said(value)] as const));
}

const isNumber = (text: string): boolean => text !== "" && Number.isFinite(Number(text));

/** Words that say nothing about which one is meant. */
const FILLING = /^(model|response|answer|option|completion|assistant|output|text|is|the|better|best|wins|winner)$/;

/** What a value comes down to: "Response 2 is better" to "2". */
function essence(value: string): string {
  if (isNumber(value)) return value;
  const words = value.toLowerCase().match(/[a-z]+|[0-9]+/g) ?? [];
  return words.filter((word) => !FILLING.test(word)).join(" ");
}

const COUNTED: Readonly<Record<string, Readonly<Record<number, Side>>>> = {
  "0,1": { 0: "a", 1: "b" },
  "1,2": { 1: "a", 2: "b" },
  "0,1,2": { 0: "tie", 1: "a", 2: "b" },
};

/**
 * A column's numbers mean something only together: 1 is the first of 1 and 2, the second of 0 and 1, and a grade among
 * others. Below zero the first one wins, above it the second, as in HelpSteer 3.
 */
function numbersMean(numbers: ReadonlySet<number>): (value: number) => Side | null {
  const sorted = [...numbers].sort((one, other) => one - other);
  if (sorted.some((value) => value < 0)) return (value) => (value === 0 ? "tie" : value < 0 ? "a" : "b");
  const table = COUNTED[sorted.join(",")];
  return (value) => table?.[value] ?? null;
}

const NAMES: readonly (readonly [Side, RegExp])[] = [
  ["a", /^(a|first|left|true)$/],
  ["b", /^(b|second|right|false)$/],
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
