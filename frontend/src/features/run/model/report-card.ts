import type { JobEvent } from "@/lib/api/types";

/** A group of held-out pairs, thumbs or steps, with the accuracy of the reward model on it. */
interface CardRow {
  readonly group: string;
  readonly name: string;
  readonly pairs: number;
  readonly accuracy: number;
  readonly low: number;
  readonly high: number;
  readonly confidence: number | null;
}

interface Bin {
  readonly low: number;
  readonly high: number;
  readonly pairs: number;
  readonly predicted: number;
  readonly observed: number;
}

export interface ReportCard {
  /** The data of the measurement. */
  readonly of: "pairs" | "thumbs" | "steps";
  readonly rows: readonly CardRow[];
  readonly calibration: readonly Bin[];
  /** Labels and values of the other figures. */
  readonly figures: readonly (readonly [string, number])[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Key and name of each group of slices, and the order of its slices, which JSONB does not keep. */
const GROUPS: readonly (readonly [string, string, readonly string[]])[] = [
  ["by_thumb", "thumb", ["up", "down"]],
  ["by_source", "source", []],
  ["by_length", "length", ["less than half as long", "shorter", "about as long", "longer", "twice as long or more"]],
  ["by_agreement", "agreement", ["unanimous", "majority", "split"]],
  ["by_member", "member", Array.from({ length: 16 }, (_, at) => String(at + 1))],
];
const FIGURES: readonly (readonly [string, string])[] = [
  ["auc", "AUC"],
  ["first_error_accuracy", "Solutions whose first error is found"],
  ["majority_baseline", "If the more frequent verdict was always expected"],
  ["margin", "Mean margin"],
  ["agreement", "Share on which all members agree"],
  ["calibration_error", "Calibration error"],
  ["length_correlation", "Correlation of score and length"],
  ["ties", "Ties, in no slice"],
  ["references", "SFT answers measured"],
  ["reference_mean", "Their mean score"],
  ["reference_std", "Their standard deviation"],
];

/** The newest card of a stage; null where there is none. */
export function reportCard(log: readonly JobEvent[], stage: string): ReportCard | null {
  const cards = log.filter((one) => one.type === "report_card");
  const event = cards.findLast((one) => one.stage === stage);
  const card = event && fields(event.data.card);
  if (!card) return null;
  const of = card.loss === "pointwise" ? "thumbs" : card.loss === "stepwise" ? "steps" : "pairs";
  return {
    of,
    rows: [
      ...slice("", `All ${of}`, card.overall),
      ...GROUPS.flatMap(([key, group, order]) =>
        inOrder(fields(card[key]) ?? {}, order).flatMap(([name, value]) =>
          of === "steps" && key === "by_thumb"
            ? slice("step", name === "up" ? "good" : "bad", value)
            : slice(group, name, value),
        ),
      ),
      ...slice("", "If the longer answer always won", card.length_baseline),
    ],
    calibration: Array.isArray(card.calibration) ? card.calibration.flatMap(bin) : [],
    figures: FIGURES.flatMap(([key, label]) => {
      const value = card[key];
      return typeof value === "number" ? [[label, value] as const] : [];
    }),
  };
}

function inOrder(slices: Fields, order: readonly string[]): [string, unknown][] {
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return Object.entries(slices).sort(([a], [b]) => place(a) - place(b));
}

function slice(group: string, name: string, value: unknown): CardRow[] {
  const found = fields(value);
  if (!found || !numeric(found, "pairs", "accuracy", "low", "high")) return [];
  const { pairs, accuracy, low, high, confidence } = found;
  return [{ group, name, pairs, accuracy, low, high, confidence: typeof confidence === "number" ? confidence : null }];
}

function bin(value: unknown): Bin[] {
  const found = fields(value);
  return found && numeric(found, "low", "high", "pairs", "predicted", "observed") ? [found] : [];
}

function fields(value: unknown): Fields | null {
  return typeof value === "object" && value !== null ? (value as Fields) : null;
}

function numeric<Name extends string>(value: Fields, ...names: Name[]): value is Fields & Record<Name, number> {
  return names.every((name) => typeof value[name] === "number");
}
