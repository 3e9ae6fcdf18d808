import { queryOptions, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { answer, api } from "@/lib/api/client";
import { KNOBS } from "@/lib/api/knobs.gen";
import type { JobCommand, MetricInfo } from "@/lib/api/types";

/** Names for people of what programs name otherwise: metrics and commands. */

const ACTION_LABELS = { evaluate: "Evaluation", checkpoint: "Checkpoint" } as const;

export const commandLabel = (name: JobCommand["name"]): string =>
  name === "evaluate" || name === "checkpoint" ? ACTION_LABELS[name] : KNOBS[name].label;

/** The finding of a health rule in words. Events of older versions have no title. */
export const findingTitle = ({ title, rule }: { readonly title?: string; readonly rule: string }): string =>
  title ||
  rule
    .replaceAll("_", " ")
    .replace(/\bkl\b/, "KL")
    .replace(/^./, (first) => first.toUpperCase());

/** Why a reward or a judge has no value, in words. */
export const missingCause = (cause: string): string => (cause === "time_out" ? "time-out" : cause.replaceAll("_", " "));

/** A score that is missing, in place of its number. */
export const noValue = (cause: string): string => `no value (${missingCause(cause)})`;

/** Reference of the metrics. It changes with the software only. */
export const metricReferenceQuery = queryOptions({
  queryKey: ["reference", "metrics"],
  queryFn: async () => (await answer(api.GET("/v1/reference/metrics"))).data,
  staleTime: Infinity,
});

/** A description whose name or label holds this stands for many: `reward/<name>` describes `reward/length`. */
export const PLACE = "<name>";

/** The part of `name` that fills the placeholder of the pattern; null where they do not match. */
export function inPlace(pattern: string, name: string): string | null {
  const [before = "", after = ""] = pattern.split(PLACE);
  if (!pattern.includes(PLACE) || !name.startsWith(before) || !name.endsWith(after)) return null;
  const inner = name.slice(before.length, name.length - after.length);
  return inner && !inner.includes("/") ? inner : null;
}

type Labelled = Pick<MetricInfo, "stage" | "name" | "label">;

/**
 * The label of a figure of a stage. A checkpoint names figures of its evaluation without `eval/`. `otherwise` is returned for
 * an unknown one, by default its name as words.
 */
export type LabelOf = (stage: string | null, name: string, otherwise?: string) => string;

export function labelsOf(metrics: readonly Labelled[]): LabelOf {
  const labels = new Map(metrics.map(({ stage, name, label }) => [`${stage} ${name}`, label]));
  const patterns = metrics.filter(({ name }) => name.includes(PLACE));
  const fromPattern = (stage: string | null, name: string): string | undefined =>
    patterns
      .filter((pattern) => pattern.stage === stage)
      .flatMap((pattern) => {
        const inner = inPlace(pattern.name, name);
        return inner === null ? [] : [pattern.label.replace(PLACE, inner)];
      })[0];
  return (stage, name, otherwise = name.replace(/^./, (first) => first.toUpperCase()).replaceAll("_", " ")) =>
    labels.get(`${stage} ${name}`) ??
    labels.get(`${stage} eval/${name}`) ??
    labels.get(`evaluation ${name}`) ??
    fromPattern(stage, name) ??
    otherwise;
}

const QUOTED = /`([^`\n]+)`/g;

/** The text with the labels of the metrics that it names between backticks. Other code keeps its backticks. */
export const withLabels = (text: string, stage: string | null, labelOf: LabelOf): string =>
  text.replace(QUOTED, (quoted, name: string) => labelOf(stage, name, quoted));

/** The labels that the trainer documents. */
export function useLabels(): LabelOf {
  const { data } = useQuery(metricReferenceQuery);
  return useMemo(() => labelsOf(data ?? []), [data]);
}
