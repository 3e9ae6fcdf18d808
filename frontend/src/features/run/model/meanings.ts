import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Healthy } from "@/charts/healthy";
import { metricReferenceQuery } from "@/features/run/api";
import type { MetricInfo } from "@/lib/api/types";

/** The parts of a metric's description that may hold `<name>`. */
interface Described {
  readonly name: string;
  readonly label: string;
  readonly chart: { readonly title: string } | null;
}

const PLACE = "<name>";

/**
 * The descriptions by the names that a run has. One whose own name holds `<name>` stands for many: `reward/<name>`
 * describes `reward/length`.
 */
export function byName<Metric extends Described>(
  metrics: readonly Metric[],
  names: readonly string[],
): Map<string, Metric> {
  const found = new Map(metrics.map((metric) => [metric.name, metric]));
  const patterns = metrics.filter((metric) => metric.name.includes(PLACE));
  for (const name of names) {
    if (found.has(name)) continue;
    for (const pattern of patterns) {
      const inner = inPlace(pattern.name, name);
      if (inner === null) continue;
      const chart = pattern.chart && { ...pattern.chart, title: pattern.chart.title.replace(PLACE, inner) };
      found.set(name, { ...pattern, name, label: pattern.label.replace(PLACE, inner), chart });
    }
  }
  return found;
}

/** The part of `name` that fills the placeholder of the pattern; null where they do not match. */
function inPlace(pattern: string, name: string): string | null {
  const [before = "", after = ""] = pattern.split(PLACE);
  if (!name.startsWith(before) || !name.endsWith(after)) return null;
  const inner = name.slice(before.length, name.length - after.length);
  return inner && !inner.includes("/") ? inner : null;
}

type Labelled = Pick<MetricInfo, "stage" | "name" | "label">;

/** The label of a figure of a stage. A checkpoint names figures of its evaluation without `eval/`. */
export type LabelOf = (stage: string | null, name: string) => string;

export function labelsOf(metrics: readonly Labelled[]): LabelOf {
  const labels = new Map(metrics.map(({ stage, name, label }) => [`${stage} ${name}`, label]));
  return (stage, name) =>
    labels.get(`${stage} ${name}`) ??
    labels.get(`${stage} eval/${name}`) ??
    labels.get(`evaluation ${name}`) ??
    name.replace(/^./, (first) => first.toUpperCase()).replaceAll("_", " ");
}

/** The labels that the trainer documents. */
export function useLabels(): LabelOf {
  const { data } = useQuery(metricReferenceQuery);
  return useMemo(() => labelsOf(data ?? []), [data]);
}

export interface Meaning extends Omit<MetricInfo, "healthy"> {
  readonly healthy: Healthy | null;
}

/** The stage's metrics by name, as the trainer documents them. `names`: those that the run has, a line each. */
export function useMeanings(stage: string, names: string): ReadonlyMap<string, Meaning> {
  const { data } = useQuery(metricReferenceQuery);
  return useMemo(() => {
    const ofStage = (data ?? []).filter((metric) => metric.stage === stage);
    const metrics = ofStage.map(({ healthy, ...rest }) => ({ ...rest, healthy: bounds(healthy) }));
    return byName(metrics, names.split("\n"));
  }, [data, stage, names]);
}

const bounds = (healthy: readonly (number | null)[] | null): Healthy | null =>
  healthy && [healthy[0] ?? null, healthy[1] ?? null];
