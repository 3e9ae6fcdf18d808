/** An event of the stream. `data` is the trainer's or the platform's event; its shape depends on `type`. */
export interface RunEvent {
  readonly seq: number;
  readonly type: string;
  readonly created_at: string;
  readonly attempt: number | null;
  readonly stage?: string | null;
  readonly step?: number | null;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A completion as the stream carries it. */
export interface SampleRow {
  readonly prompt: string;
  readonly response: string;
  readonly score: number | null;
  readonly kl: number | null;
  readonly tokens: number | null;
  readonly finished: boolean | null;
  readonly judge: number | null;
  readonly reference: string | null;
  readonly reference_score: number | null;
  readonly reference_judge: number | null;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const asNumber = (value: unknown): number | null => (typeof value === "number" ? value : null);
const asText = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** Reads one SSE `data:` line; null where it is no event of ours. */
export function parseEvent(text: string): RunEvent | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(value) || typeof value.seq !== "number" || typeof value.type !== "string") return null;
  return {
    seq: value.seq,
    type: value.type,
    created_at: asText(value.created_at) ?? "",
    attempt: asNumber(value.attempt),
    stage: asText(value.stage),
    step: asNumber(value.step),
    data: isRecord(value.data) ? value.data : {},
  };
}

export const stageOf = (event: RunEvent): string | null => event.stage ?? asText(event.data.stage);
export const stepOf = (event: RunEvent): number | null => event.step ?? asNumber(event.data.step);

/** The numbers of a `metrics` event. */
export function valuesOf(event: RunEvent): [string, number][] {
  if (!isRecord(event.data.values)) return [];
  return Object.entries(event.data.values).filter((entry): entry is [string, number] => typeof entry[1] === "number");
}

/** The rows of a `samples` event. */
export function rowsOf(event: RunEvent): SampleRow[] {
  const rows = event.data.rows;
  return Array.isArray(rows) ? rows.filter(isRecord).map(toSample) : [];
}

function toSample(row: Record<string, unknown>): SampleRow {
  return {
    prompt: asText(row.prompt) ?? "",
    response: asText(row.response) ?? "",
    score: asNumber(row.score),
    kl: asNumber(row.kl),
    tokens: asNumber(row.tokens),
    finished: typeof row.finished === "boolean" ? row.finished : null,
    judge: asNumber(row.judge),
    reference: asText(row.reference),
    reference_score: asNumber(row.reference_score),
    reference_judge: asNumber(row.reference_judge),
  };
}

/** The names under which the stream sends its events. EventSource hears only those it was told of. */
export const EVENT_TYPES = [
  "run_started",
  "stage_started",
  "metrics",
  "samples",
  "checkpoint_saved",
  "health",
  "rolled_back",
  "curve",
  "report_card",
  "seed_finished",
  "stage_finished",
  "message",
  "run_finished",
  "run_failed",
  "run_stopped",
  "status_changed",
] as const;

/** Those of the log: all but the numbers and the completions, which have pages of their own. */
export const LOG_TYPES = EVENT_TYPES.filter((type) => type !== "metrics" && type !== "samples");
