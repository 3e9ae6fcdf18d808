import type { Sample } from "@/lib/api/types";

export const FIGURES = [
  { id: "score", label: "Score", decimals: 2 },
  { id: "judge", label: "Judge", decimals: 2 },
  { id: "kl", label: "KL", decimals: 2 },
  { id: "tokens", label: "Tokens", decimals: 0 },
] as const;
export type Figure = (typeof FIGURES)[number]["id"];

export const VIEWS = [
  { id: "step", label: "One step" },
  { id: "all", label: "All steps" },
  { id: "prompt", label: "One prompt" },
  { id: "notes", label: "With notes" },
] as const;

/** The evaluation has one step, and each of its prompts once. */
export const VIEWS_OF_EVALUATION = [
  { id: "step", label: "All prompts" },
  { id: "notes", label: "With notes" },
] as const;

export const ORDERS = [
  { id: "newest", label: "Newest first" },
  { id: "oldest", label: "Oldest first" },
  { id: "highest", label: "Highest first" },
  { id: "lowest", label: "Lowest first" },
] as const;
export type Order = (typeof ORDERS)[number]["id"];

export const ENDS = [
  { id: "any", label: "Any" },
  { id: "eos", label: "Ended with EOS" },
  { id: "cut", label: "Cut off" },
] as const;

export const SOURCES = [
  { id: "any", label: "All" },
  { id: "batch", label: "Training" },
  { id: "held_out", label: "Held out" },
] as const;

export const RIVALS = [
  { id: "none", label: "Nothing" },
  { id: "reference", label: "The policy before PPO" },
  { id: "previous", label: "The step before" },
] as const;
export type Rival = (typeof RIVALS)[number]["id"];

/** A completion: its stage, step and index in the step, as in `ppo.120.3`. */
export const addressOf = (stage: string, step: number, index: number): string => `${stage}.${step}.${index}`;

/** The choices of the completions tab that the address holds. */
export interface Place {
  readonly view: (typeof VIEWS)[number]["id"];
  /** Null: the newest. */
  readonly step: number | null;
  readonly search: string;
  readonly by: Figure;
  readonly order: Order;
  readonly min: number | null;
  readonly max: number | null;
  readonly ended: (typeof ENDS)[number]["id"];
  readonly source: (typeof SOURCES)[number]["id"];
  readonly rival: Rival;
  /** Index of the completion that is shown token by token. */
  readonly row: number | null;
  /** A completion of the prompt that is followed, as `addressOf` gives it. */
  readonly of: string | null;
}

const NOTHING: Place = {
  view: "step",
  step: null,
  search: "",
  by: "score",
  order: "newest",
  min: null,
  max: null,
  ended: "any",
  source: "any",
  rival: "none",
  row: null,
  of: null,
};

export function placeOf(params: URLSearchParams): Place {
  return {
    view: oneOf(VIEWS, params.get("show")) ?? NOTHING.view,
    step: whole(params.get("step")),
    search: params.get("q") ?? "",
    by: oneOf(FIGURES, params.get("by")) ?? NOTHING.by,
    order: oneOf(ORDERS, params.get("order")) ?? NOTHING.order,
    min: finite(params.get("min")),
    max: finite(params.get("max")),
    ended: oneOf(ENDS, params.get("ended")) ?? NOTHING.ended,
    source: oneOf(SOURCES, params.get("prompts")) ?? NOTHING.source,
    rival: oneOf(RIVALS, params.get("beside")) ?? NOTHING.rival,
    row: whole(params.get("row")),
    of: /^[a-z_]+\.\d+\.\d+$/.exec(params.get("of") ?? "")?.[0] ?? null,
  };
}

const NAMES: Readonly<Record<keyof Place, string>> = {
  view: "show",
  step: "step",
  search: "q",
  by: "by",
  order: "order",
  min: "min",
  max: "max",
  ended: "ended",
  source: "prompts",
  rival: "beside",
  row: "row",
  of: "of",
};

/** The parameters after a change. A choice that is the usual one is left out. */
export function withPlace(params: URLSearchParams, change: Partial<Place>): URLSearchParams {
  const after = new URLSearchParams(params);
  for (const [key, value] of Object.entries({ ...placeOf(params), ...change })) {
    const name = NAMES[key as keyof Place];
    if (value === NOTHING[key as keyof Place]) after.delete(name);
    else after.set(name, String(value));
  }
  return after;
}

/** The logged step to show for a wanted one: it, or the last one before it, or the first. Null: the newest. */
export function nearestStep(steps: readonly number[], wanted: number | null): number | undefined {
  if (wanted === null) return steps.at(-1);
  return steps.findLast((step) => step <= wanted) ?? steps[0];
}

/** The figures that some of the rows have. */
export const figuresIn = (rows: readonly Sample[]): readonly (typeof FIGURES)[number][] =>
  FIGURES.filter(({ id }) => rows.some((row) => typeof row[id] === "number"));

function oneOf<Id extends string>(choices: readonly { readonly id: Id }[], id: string | null): Id | undefined {
  return choices.find((choice) => choice.id === id)?.id;
}

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function finite(text: string | null): number | null {
  const value = text === null || !text.trim() ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}
