/** A column of a field of the spec or of a metric, as the server names it. */
export type FieldColumn = `spec:${string}` | `metric:${string}`;

const NAME = /^(spec|metric):./;

export const isFieldColumn = (id: string): id is FieldColumn => NAME.test(id);

/** The name without its kind: `ppo.kl.coef`, or `reward/length`. */
export const nameOfColumn = (id: FieldColumn): string => id.slice(id.indexOf(":") + 1);

export const OPERATORS = ["=", "!=", "<", "<=", ">", ">="] as const;

/** A condition as the server reads it: `spec:ppo.kl.coef>=0.1`. */
export const conditionText = (column: string, operator: string, value: string): string =>
  `${column}${operator}${value.trim()}`;

/** A condition for people, without its kind. */
export const conditionLabel = (condition: string): string =>
  condition.replace(NAME, (start) => start.at(-1) ?? "").replace(/(<=|>=|!=|=|<|>)/, " $1 ");

/** Fields that many look at. Those of the sweeps in the list come first. */
const USUAL = [
  "seed",
  "ppo.learning_rate",
  "ppo.kl.coef",
  "ppo.steps",
  "ppo.policy_loss.clip_range",
  "data.preferences",
];

type Listed = {
  readonly group: { readonly values: Readonly<Record<string, unknown>> } | null;
  readonly summary: Readonly<Record<string, number>> | null;
  readonly latest_metrics: Readonly<Record<string, number>>;
  readonly folded?: { readonly metric: string } | null;
};

/** The columns that the listed jobs suggest: fields of their sweeps, objectives, figures and metrics. */
export function suggestedColumns(jobs: readonly Listed[], metrics: readonly string[]): FieldColumn[] {
  const fields = [...jobs.flatMap(({ group }) => Object.keys(group?.values ?? {})), ...USUAL];
  const measured = [
    ...jobs.flatMap(({ folded }) => folded?.metric ?? []),
    ...jobs.flatMap(({ summary, latest_metrics: latest }) => Object.keys({ ...summary, ...latest })),
    ...metrics,
  ];
  const names = [...fields.map((path) => `spec:${path}` as const), ...measured.map((one) => `metric:${one}` as const)];
  return [...new Set<FieldColumn>(names)];
}
