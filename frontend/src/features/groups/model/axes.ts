import { shortValue } from "@/lib/names";

/** A tick of an axis, from 0 at its low end to 1. */
interface Tick {
  readonly at: number;
  readonly text: string;
}

/** An axis of a parameter, on which numbers have their places by size and other values a place each. */
export interface Axis {
  readonly path: string;
  readonly isLog: boolean;
  /** Null for a run that lacks the parameter. */
  readonly place: (value: unknown) => number | null;
  readonly ticks: readonly Tick[];
}

/** Numbers whose largest is this many times the smallest are shown by their logarithm. */
const LOG_RATIO = 50;
/** The part of an axis below its numbers, for null and for texts beside them. */
const BELOW = 0.14;
/** More texts than these have no tick each. */
const MOST_TICKS = 12;

const keyOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** The axis of a parameter with these values; undefined stands for a run without it. */
export function axisOf(path: string, values: readonly unknown[]): Axis {
  const numbers = values.filter((value) => typeof value === "number");
  const others = [...new Set(values.filter((one) => one !== undefined && typeof one !== "number").map(keyOf))].sort();
  // Numbers beside many texts, and the few numbers of a grid beside null, are all values of a kind.
  const isNumeric = numbers.length > 0 && others.length <= 2;
  const axis = isNumeric ? numeric(numbers, others) : categories([...distinct(numbers).map(keyOf), ...others]);
  return { path, ...axis };
}

const distinct = (numbers: readonly number[]): number[] => [...new Set(numbers)].sort((a, b) => a - b);

function categories(keys: readonly string[]): Omit<Axis, "path"> {
  const at = (index: number) => (keys.length === 1 ? 0.5 : index / (keys.length - 1));
  const places = new Map(keys.map((key, index) => [key, at(index)]));
  const step = Math.ceil(keys.length / MOST_TICKS);
  return {
    isLog: false,
    place: (value) => (value === undefined ? null : (places.get(keyOf(value)) ?? null)),
    ticks: keys.flatMap((key, index) => (index % step ? [] : [{ at: at(index), text: shortened(key) }])),
  };
}

function numeric(numbers: readonly number[], others: readonly string[]): Omit<Axis, "path"> {
  const known = distinct(numbers);
  const [low = 0, high = 0] = [known[0], known.at(-1)];
  const isLog = low > 0 && high / low >= LOG_RATIO;
  const size = isLog ? Math.log : (value: number) => value;
  const bottom = others.length ? BELOW : 0;
  const at = (value: number) =>
    low === high ? (1 + bottom) / 2 : bottom + ((size(value) - size(low)) / (size(high) - size(low))) * (1 - bottom);
  const below = new Map(others.map((key, index) => [key, (index * BELOW) / (2 * others.length)]));
  const shown = known.length <= 5 && wellApart(known.map(at)) ? known : between(low, high, isLog);
  return {
    isLog,
    place: (value) =>
      typeof value === "number" ? at(value) : value === undefined ? null : (below.get(keyOf(value)) ?? null),
    ticks: [
      ...[...below].map(([text, place]) => ({ at: place, text: shortened(text) })),
      ...shown.map((value) => ({ at: at(value), text: shortValue(rounded(value)).replace(/^-/, "−") })),
    ],
  };
}

const wellApart = (places: readonly number[]): boolean =>
  places.every((place, index) => index === 0 || place - (places[index - 1] ?? 0) > 0.08);

/** Both ends, and round values between them. */
function between(low: number, high: number, isLog: boolean): number[] {
  const inner = isLog ? powers(low, high) : [low + (high - low) / 2];
  return [low, ...inner, high];
}

/** The powers of ten well between the bounds. */
function powers(low: number, high: number): number[] {
  const [from, to] = [Math.ceil(Math.log10(low * 1.5)), Math.floor(Math.log10(high / 1.5))];
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => Number(`1e${from + index}`));
}

const rounded = (value: number): number => (Number.isInteger(value) ? value : Number(value.toPrecision(3)));

const shortened = (text: string): string => (text.length > 18 ? `${text.slice(0, 17)}…` : text);
