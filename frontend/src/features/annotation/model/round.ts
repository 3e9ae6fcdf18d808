/** The fields of a round that matter here. */
interface AnyRound {
  readonly kind: string;
  readonly status: string;
  readonly items: number;
  readonly answers: number;
  readonly answers_wanted: number;
  readonly source:
    | { readonly type: "dataset"; readonly dataset: string; readonly rows: string }
    | {
        readonly type: "checkpoints";
        readonly checkpoints: readonly string[];
        readonly prompts: string;
        readonly completions: number;
      };
}

/** A short description of the compared answers. */
export function sourceInWords({ kind, source }: AnyRound): string {
  if (source.type === "dataset") {
    const what = kind === "ranking" ? "Rankings" : "Pairs";
    return source.rows === "unlabelled" ? `Unlabelled ${what.toLowerCase()} of a dataset` : `${what} of a dataset`;
  }
  const models = new Set(source.checkpoints).size;
  const each = source.completions > 1 ? `, ${source.completions} completions of each` : "";
  return models === 1 ? `One checkpoint, ${source.completions} completions` : `${models} checkpoints${each}`;
}

/** Share of the wanted answers that exist, 0 to 1. */
export const shareAnswered = ({ answers, answers_wanted: wanted }: AnyRound): number =>
  wanted > 0 ? Math.min(1, answers / wanted) : 0;

const WORKING = new Set(["preparing", "closing"]);

/** Whether the server prepares or closes the round, so that it changes soon. */
export const isMoving = ({ status }: { readonly status: string }): boolean => WORKING.has(status);
