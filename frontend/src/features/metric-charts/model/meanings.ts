import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Healthy } from "@/charts/healthy";
import type { MetricInfo } from "@/lib/api/types";
import { inPlace, metricReferenceQuery, PLACE } from "@/lib/labels";

/** The parts of a metric's description that may hold `<name>`. */
interface Described {
  readonly name: string;
  readonly label: string;
  readonly chart: { readonly title: string } | null;
}

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
