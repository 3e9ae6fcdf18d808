import type { TokenRow } from "@/lib/api/types";

/** A number that tokens can be coloured by. */
export interface Measure {
  readonly id: "kl" | "advantage" | "value" | "reward" | "entropy" | "ratio" | "sampler_gap";
  readonly label: string;
  readonly unit: string;
  /** The value without a colour. */
  readonly middle: number;
  /** Whether values below the middle are possible: they get the other colour. */
  readonly diverging: boolean;
  readonly meaning: string;
}

export const MEASURES: readonly [Measure, ...Measure[]] = [
  {
    id: "kl",
    label: "KL",
    unit: "nats",
    middle: 0,
    diverging: true,
    meaning: "log π − log π_ref. Above 0, the policy prefers the token more than the reference does.",
  },
  {
    id: "advantage",
    label: "Advantage",
    unit: "",
    middle: 0,
    diverging: true,
    meaning: "The update makes tokens above 0 likelier, and those below 0 rarer.",
  },
  {
    id: "value",
    label: "Value",
    unit: "",
    middle: 0,
    diverging: true,
    meaning: "The critic's estimate of the reward from this token on.",
  },
  {
    id: "reward",
    label: "Reward",
    unit: "",
    middle: 0,
    diverging: true,
    meaning: "The KL penalty and any reward per token. The last token also gets the score.",
  },
  {
    id: "entropy",
    label: "Entropy",
    unit: "nats",
    middle: 0,
    diverging: false,
    meaning: "How open the choice of the token was. At 0, the policy was certain.",
  },
  {
    id: "ratio",
    label: "Ratio",
    unit: "",
    middle: 1,
    diverging: true,
    meaning: "π/π_old in the last pass over the response. Above 1, the update has made the token likelier.",
  },
  {
    id: "sampler_gap",
    label: "Sampler gap",
    unit: "nats",
    middle: 0,
    diverging: true,
    meaning: "log π_old − log π_sampler. Above 0, the policy finds the token likelier than the sampler did.",
  },
];

/** The measures for which the tokens have numbers. */
export const measuresIn = (tables: readonly (readonly TokenRow[])[]): readonly Measure[] =>
  MEASURES.filter(({ id }) => tables.some((table) => table.some((token) => typeof token[id] === "number")));

/** Distance of a value from the middle; of a ratio in logarithms, so that 2 and ½ are equally far. */
function distance(value: number, { middle }: Measure): number {
  return middle === 1 ? Math.log(Math.max(value, Number.MIN_VALUE)) : value - middle;
}

/** The inverse of `distance`. */
const valueAt = (at: number, { middle }: Measure): number => (middle === 1 ? Math.exp(at) : at + middle);

export interface Scale {
  readonly measure: Measure;
  /** The distance from the middle that has the full colour; 0 if all values are in the middle. */
  readonly reach: number;
  /** Whether some values are further away: they have the full colour too. */
  readonly cut: boolean;
}

const MOST = 0.98;

/** The scale of a measure over some completions. If few values are far out, the colours show the others. */
export function scaleOf(measure: Measure, tables: readonly (readonly TokenRow[])[]): Scale {
  const sizes = tables
    .flatMap((table) => table.map((token) => token[measure.id]))
    .filter((value) => typeof value === "number")
    .map((value) => Math.abs(distance(value, measure)))
    .sort((a, b) => a - b);
  const largest = sizes.at(-1) ?? 0;
  const usual = sizes[Math.ceil(sizes.length * MOST) - 1] ?? 0;
  const cut = usual > 0 && largest > 2 * usual;
  return { measure, reach: cut ? usual : largest, cut };
}

/** The colour of a value: −1 (far below the middle) to 1; null without a value. */
export function colourAt(value: number | null | undefined, { measure, reach }: Scale): number | null {
  if (typeof value !== "number") return null;
  if (reach === 0) return 0;
  return Math.max(-1, Math.min(1, distance(value, measure) / reach));
}

/** Share of the full colour; the text on it keeps a contrast of at least 4.5. */
const STRONGEST = 62;

/** The CSS colour of a position on the scale. */
export function cssColour(at: number | null): string | undefined {
  if (at === null || at === 0) return undefined;
  const name = at < 0 ? "--token-low" : "--token-high";
  return `color-mix(in srgb, var(${name}) ${(Math.abs(at) * STRONGEST).toFixed(1)}%, transparent)`;
}

interface Tick {
  /** Position on the colour scale. */
  readonly at: number;
  readonly value: number;
}

/** The numbers of the legend, from the lowest to the highest colour. */
export function ticksOf(scale: Scale): Tick[] {
  const places = scale.measure.diverging ? [-1, -0.5, 0, 0.5, 1] : [0, 0.5, 1];
  return places.map((at) => ({ at, value: valueAt(at * scale.reach, scale.measure) }));
}
