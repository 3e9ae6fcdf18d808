import type { FindingFilter } from "@/features/findings/api";

export const SEVERITIES = ["warning", "error"] as const;
type Severity = (typeof SEVERITIES)[number];

/** In place of a rule: the warnings of runs. */
export const MESSAGES = "message";

const STATES = {
  open: ["queued", "starting", "running", "pausing", "paused", "cancelling"],
  ended: ["succeeded", "failed", "cancelled"],
} as const;
type State = keyof typeof STATES;

/** Which findings the page shows. */
export interface Choice {
  readonly severity: Severity | null;
  /** A health rule, or MESSAGES. */
  readonly rule: string | null;
  /** Id of a job. */
  readonly job: string | null;
  /** Jobs that go on, or those that ended. */
  readonly state: State | null;
  readonly archived: boolean;
}

export const UNFILTERED: Choice = { severity: null, rule: null, job: null, state: null, archived: false };

/** Reads the choice from an address. Invalid parameters count as absent. */
export const readChoice = (params: URLSearchParams): Choice => ({
  severity: SEVERITIES.find((one) => one === params.get("severity")) ?? null,
  rule: params.get("rule") || null,
  job: params.get("job") || null,
  state: asState(params.get("state")),
  archived: params.get("archived") === "1",
});

export const asState = (text: string | null): State | null => (text === "open" || text === "ended" ? text : null);

/** The address of a choice: only what differs from the whole list is in it. */
export const writeChoice = ({ archived, ...texts }: Choice): URLSearchParams =>
  new URLSearchParams([
    ...Object.entries(texts).filter((entry): entry is [string, string] => entry[1] !== null),
    ...(archived ? [["archived", "1"]] : []),
  ]);

/** The query of a request for these findings. */
export const filterOf = ({ severity, rule, job, state, archived }: Choice): FindingFilter => ({
  ...(severity && { severity: [severity] }),
  ...(rule && { rule: [rule] }),
  ...(job && { job }),
  ...(state && { status: [...STATES[state]] }),
  ...(archived && { archived }),
});

export const isFiltered = (choice: Choice): boolean => Object.keys(filterOf(choice)).length > 0;
