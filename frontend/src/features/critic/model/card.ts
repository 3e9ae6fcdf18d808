import type { EventOf } from "@/lib/api/types";
import { measured, number, percent } from "@/lib/format";

export type CriticCard = EventOf<"critic_card">["data"]["card"];

/** A sentence about the critic as a whole, and more about its parts. */
export interface Verdict {
  readonly tone: "neutral" | "warn" | "bad";
  readonly title: string;
  readonly points: readonly string[];
}

/** Below this share of the squared error of the mean return, a critic foresees something. */
const HARDLY = 0.1;
/** A bias above this share of the returns' spread is named. */
const BIASED = 0.5;
const RANKED = 0.5;

/** The card in plain words: what is wrong, and the setting to change. */
export function verdictOf(card: CriticCard): Verdict {
  const { skill } = card;
  const points = [...biases(card), ...parts(card)];
  if (typeof skill !== "number")
    return { tone: "neutral", title: "All returns of this batch are equal: there is nothing to foresee", points };
  if (skill < 0)
    return {
      tone: "bad",
      title: "The critic is worse than the mean return",
      points: [
        `Its squared error is ${number(1 - skill)} times that of always expecting the mean return of the batch. Advantages from such values mislead the policy.`,
        ...(isShifted(card)
          ? []
          : [
              "Pretrain it (`ppo.critic.pretraining`), or raise `ppo.critic.learning_rate` or `ppo.critic.warmup_steps`.",
            ]),
        ...points,
      ],
    };
  const foreseen = `${percent(skill)} of the squared error of the mean return is gone.`;
  if (skill < HARDLY)
    return {
      tone: "warn",
      title: "The critic foresees hardly anything",
      points: [`${foreseen} Raise \`ppo.critic.learning_rate\` or \`ppo.critic.epochs\`.`, ...points],
    };
  return { tone: "neutral", title: "The critic foresees a part of the returns", points: [foreseen, ...points] };
}

/** Whether the values differ from each other as the returns do, and lie all too high or too low. */
const isShifted = (card: CriticCard): boolean =>
  (card.explained_variance ?? 0) > HARDLY && Math.abs(card.value - card.returns) > BIASED * card.returns_std;

function biases(card: CriticCard): string[] {
  const { value, returns, returns_std: spread, by_length: lengths } = card;
  const found: string[] = [];
  if (spread > 0 && Math.abs(value - returns) > BIASED * spread) {
    const side = value < returns ? "below" : "above";
    const remedy = isShifted(card)
      ? " It sees the differences between responses, but lags or is shifted: raise `ppo.critic.epochs`."
      : "";
    found.push(
      `The values lie ${measured(Math.abs(value - returns))} ${side} the returns on average; the returns have a standard deviation of ${measured(spread)}.${remedy}`,
    );
  }
  const [short, long] = [lengths[0], lengths.at(-1)];
  if (short && long && lengths.length > 1) {
    const more = long.value - long.returns - (short.value - short.returns);
    if (Math.abs(more) > BIASED * spread)
      found.push(
        `It ${more > 0 ? "overrates" : "underrates"} long responses beside short ones, by ${measured(Math.abs(more))}.`,
      );
  }
  return found;
}

function parts(card: CriticCard): string[] {
  const { rank_last: rank, variance_removed: removed } = card;
  const found: string[] = [];
  if (typeof rank === "number" && rank < RANKED)
    found.push(
      `At the last token, where the whole response is known, its values do not rank the responses as their scores do (ρ = ${measured(rank)}).`,
    );
  if (rank === undefined || rank === null) found.push(unranked(card));
  if (typeof removed === "number")
    found.push(
      removed < 0
        ? `It adds ${percent(-removed)} to the variance of the advantages.`
        : `It removes ${percent(removed)} of the variance of the advantages.`,
    );
  return found.filter(Boolean);
}

const unranked = (card: CriticCard): string =>
  card.responses < 2 || card.returns_std === 0
    ? ""
    : "Values or scores of the last tokens are all equal, so they rank nothing.";

/** The figures of several critics; none of one. */
const severalOf = ({ disagreement, agreement }: CriticCard): readonly (readonly [string, string])[] =>
  typeof disagreement === "number"
    ? [
        ["Disagreement of the critics", measured(disagreement)],
        ["Their rank correlation", measured(agreement)],
      ]
    : [];

/** The figures of a card beside its tables, by their labels. */
export const figuresOf = (card: CriticCard): readonly (readonly [string, string])[] => [
  ["Skill", percent(card.skill)],
  ["Explained variance", percent(card.explained_variance)],
  ["Variance removed", percent(card.variance_removed)],
  ["Mean value", measured(card.value)],
  ["Mean return", measured(card.returns)],
  ["Spread of the returns", measured(card.returns_std)],
  ["TD error", measured(card.td_error)],
  ["Calibration error", measured(card.calibration_error)],
  ...severalOf(card),
  ["Rank correlation, first token", measured(card.rank_first)],
  ["middle", measured(card.rank_middle)],
  ["last", measured(card.rank_last)],
];

/** A bar from 0 to its value, both as shares of the width of the scale. */
export interface Bar {
  readonly from: number;
  readonly to: number;
  /** Whether the value lies beyond the end of the scale. */
  readonly isCut: boolean;
}

export interface Ends {
  /** The scale reaches at least from the first to the second, so that small values look small. */
  readonly least: readonly [number, number];
  /** And at most so far. */
  readonly most?: readonly [number, number];
}

/** Bars of values on one scale. */
export function barsOf(values: readonly (number | null | undefined)[], { least, most = [-Infinity, Infinity] }: Ends) {
  const known = values.filter((value) => typeof value === "number");
  const bottom = Math.max(most[0], Math.min(0, least[0], ...known));
  const top = Math.min(most[1], Math.max(0, least[1], ...known));
  const width = top - bottom || 1;
  const place = (value: number) => (Math.min(top, Math.max(bottom, value)) - bottom) / width;
  return {
    zero: place(0),
    bars: values.map((value): Bar | null => {
      if (typeof value !== "number") return null;
      const [from, to] = value < 0 ? [place(value), place(0)] : [place(0), place(value)];
      return { from, to, isCut: value < bottom || value > top };
    }),
  };
}
