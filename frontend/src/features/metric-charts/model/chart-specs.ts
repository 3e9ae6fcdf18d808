import type { Meaning } from "@/features/metric-charts/model/meanings";
import type { OwnChart } from "@/features/metric-charts/model/own-charts";

export interface Line {
  readonly name: string;
  /** Shorter than the metric's own label, for a chart that has a title. */
  readonly short: string;
  /** Whether the line is measured on the axis on the right. */
  readonly right: boolean;
}

export interface ChartSpec {
  readonly title: string;
  readonly lines: readonly Line[];
  /** The chart that the user has made, if this is one. */
  readonly own?: OwnChart;
}

type Charted = Pick<Meaning, "name" | "chart">;

const REWARD = /^reward\/[^/]+$/;

/**
 * The charts of a stage whose metrics have these names, as the trainer's metric table describes them. Metrics without
 * a chart are under "All metrics".
 */
export function chartSpecs(meanings: ReadonlyMap<string, Charted>, names: readonly string[]): ChartSpec[] {
  // A single reward equals the score, which has a chart. Several rewards have a chart each.
  const isOnly = names.filter((name) => REWARD.test(name)).length < 2;
  const charted = names
    .filter((name) => !(isOnly && REWARD.test(name)))
    .flatMap((name) => {
      const chart = meanings.get(name)?.chart;
      return chart ? [{ name, chart }] : [];
    })
    .sort((a, b) => a.chart.order - b.chart.order || (a.name < b.name ? -1 : 1));
  const lines = new Map<string, Line[]>();
  for (const { name, chart } of charted) {
    const line = { name, short: chart.line, right: chart.scale === "right" };
    lines.set(chart.title, [...(lines.get(chart.title) ?? []), line]);
  }
  return [...lines].map(([title, found]) => ({ title, lines: found }));
}
