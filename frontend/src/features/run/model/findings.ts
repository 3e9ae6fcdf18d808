import { type RunEvent, stageOf, stepOf } from "@/features/run/model/event";

/** The latest finding of a health rule, and its number of occurrences. */
export interface Finding {
  readonly rule: string;
  readonly action: string;
  readonly stage: string | null;
  readonly step: number | null;
  readonly cause: string;
  readonly suggestion: string;
  readonly evidence: readonly Evidence[];
  readonly times: number;
}

interface Evidence {
  readonly metric: string;
  readonly step: number;
  readonly value: number;
}

/** A warning or an error of the run, and its number of occurrences. */
interface Remark {
  readonly text: string;
  readonly level: "warning" | "error";
  readonly times: number;
}

/** Each rule once, the one that fired last first. */
export function findings(log: readonly RunEvent[]): Finding[] {
  const byRule = new Map<string, Finding>();
  for (const event of log) {
    if (event.type !== "health") continue;
    const rule = text(event.data.rule);
    const times = (byRule.get(rule)?.times ?? 0) + 1;
    byRule.delete(rule);
    byRule.set(rule, read(event, rule, times));
  }
  return [...byRule.values()].reverse();
}

/** The warnings and errors among the run's messages; each text once, the newest first. */
export function remarks(log: readonly RunEvent[]): Remark[] {
  const byText = new Map<string, Remark>();
  for (const { type, data } of log) {
    if (type !== "message" || (data.level !== "warning" && data.level !== "error")) continue;
    const said = text(data.text);
    const times = (byText.get(said)?.times ?? 0) + 1;
    byText.delete(said);
    byText.set(said, { text: said, level: data.level, times });
  }
  return [...byText.values()].reverse();
}

function read(event: RunEvent, rule: string, times: number): Finding {
  const { action, cause, suggestion, evidence } = event.data;
  return {
    rule: rule.replaceAll("_", " ").replace(/\bkl\b/, "KL"),
    action: text(action),
    stage: stageOf(event),
    step: stepOf(event),
    cause: text(cause),
    suggestion: text(suggestion),
    evidence: Array.isArray(evidence) ? evidence.filter(isEvidence) : [],
    times,
  };
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

function isEvidence(value: unknown): value is Evidence {
  if (typeof value !== "object" || value === null) return false;
  return "metric" in value && "step" in value && "value" in value && typeof value.value === "number";
}
