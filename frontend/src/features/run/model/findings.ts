import type { EventOf, JobEvent, SuggestedChange } from "@/lib/api/types";
import { count } from "@/lib/format";
import { findingTitle } from "@/lib/labels";

/** The latest finding of a health rule, and its number of occurrences. */
export interface Finding {
  /** The finding in words. */
  readonly title: string;
  /** The name of the rule in the spec. */
  readonly rule: string;
  /** The seed it belongs to; null in a job of one seed. */
  readonly seed: number | null;
  readonly action: string;
  readonly stage: string | null;
  readonly step: number | null;
  readonly cause: string;
  readonly suggestion: string;
  /** The suggestion for programs. Runs of an older release have none. */
  readonly changes: readonly SuggestedChange[] | undefined;
  readonly evidence: EventOf<"health">["data"]["evidence"];
  readonly times: number;
}

/** A warning or an error of the run, and its number of occurrences. */
export interface Remark {
  readonly text: string;
  readonly level: "warning" | "error";
  readonly times: number;
}

/** The text that a screen reader announces. It changes when a rule fires for the first time, and with the number of warnings. */
export function announcement(found: readonly Finding[], warnings: readonly Remark[]): string {
  const rules = found.map(({ title }) => title).sort();
  const text = [
    rules.length ? `${count(rules.length, "health finding")}: ${rules.join(", ")}` : "",
    warnings.length ? count(warnings.length, "warning") : "",
  ];
  return text.filter(Boolean).join("; ");
}

/** Each rule of a seed once, the one that fired last first. A resumed run may repeat a finding at its step, which counts once. */
export function findings(log: readonly JobEvent[]): Finding[] {
  const byRule = new Map<string, Finding>();
  const steps = new Map<string, Set<number | null>>();
  for (const event of log) {
    if (event.type !== "health") continue;
    const key = `${event.seed} ${event.data.rule}`;
    const fired = (steps.get(key) ?? new Set<number | null>()).add(event.step);
    steps.set(key, fired);
    byRule.delete(key);
    byRule.set(key, read(event, fired.size));
  }
  return [...byRule.values()].reverse();
}

/** The warnings and errors among the run's messages; each text once, the newest first. */
export function remarks(log: readonly JobEvent[]): Remark[] {
  const byText = new Map<string, Remark>();
  for (const event of log) {
    if (event.type !== "message" || event.data.level === "info") continue;
    const { level } = event.data;
    const text = event.seed === null ? event.data.text : `Seed ${event.seed}: ${event.data.text}`;
    const times = (byText.get(text)?.times ?? 0) + 1;
    byText.delete(text);
    byText.set(text, { text, level, times });
  }
  return [...byText.values()].reverse();
}

function read(event: EventOf<"health">, times: number): Finding {
  const { action, cause, suggestion, changes, evidence } = event.data;
  return {
    title: findingTitle(event.data),
    rule: event.data.rule,
    seed: event.seed,
    action,
    stage: event.stage,
    step: event.step,
    cause,
    suggestion,
    changes,
    evidence,
    times,
  };
}

/** The names of the metrics of a finding. */
export const metricsOf = (evidence: readonly { readonly metric: string }[]): string =>
  [...new Set(evidence.map(({ metric }) => metric))].join(", ");
